/**
 * Escapes the characters of a text that a terminal or a reader of a log does not show as they are: control
 * and format characters, such as those that move the cursor or reverse the direction of text, and separators
 * of lines. The result contains `\u001b` as a JSON string does.
 *
 * @param except characters that stay, such as the line break of formatted JSON
 */
export function escapeControl(text: string, except = ''): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (found) =>
    except.includes(found)
      ? found
      : found.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}
