/** In the order of the search, because most headers also contain `Chrome` and `Safari`. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|HeadlessChrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

/** In the order of the search, because Android's headers contain `Linux`, and those of iOS `Mac OS X`. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/**
 * Returns the browser and the system in the `User-Agent` header: `Firefox, Linux`. For a program that is not
 * a browser, returns the name before the first `/`: `curl`. Returns an empty string if the header contains
 * none of them.
 */
export function browserName(userAgent: string): string {
  const browser = find(browsers, userAgent) ?? /^[\w-]+(?=\/)/.exec(userAgent)?.[0]
  return [browser, find(systems, userAgent)].filter(Boolean).join(', ')
}

function find(table: readonly (readonly [RegExp, string])[], text: string): string | undefined {
  return table.find(([pattern]) => pattern.test(text))?.[1]
}
