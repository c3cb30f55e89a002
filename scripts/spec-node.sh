#!/usr/bin/env bash
# Runs specs on another version of Node, in a compiled copy of this repository: scripts/spec-node.sh 24 runs all of them, and
# scripts/spec-node.sh 24 --http those over HTTP (spec/suites/http.yml) on SQLite.
set -euo pipefail
version=${1:?Pass a version of Node: npm run spec:node -- 24}
suite=${2:-}
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Some specs run commands as another user.
chmod 755 "$folder"

# The package of this platform has node. Of the two versions of the driver, 13 runs here: it has binaries for each version of Node but
# 20, which runs all other specs with version 12.
platform=$(node -p '`node-${process.platform}-${process.arch}`')
npm install --silent --no-save --no-audit --no-fund --prefix "$folder/node" "$platform@$version" better-sqlite3@13
export PATH="$folder/node/node_modules/$platform/bin:$PATH"
name="Node $(node -p 'process.versions.node') and better-sqlite3 13"

cp -a . "$folder/kit"
cd "$folder/kit"
rm -r node_modules/better-sqlite3
cp -a "$folder/node/node_modules/better-sqlite3" node_modules
if [ "$suite" != --http ]; then
  echo "All specs with $name:"
  node scripts/test.js
  exit
fi
echo "On SQLite with $name:"
node node_modules/mocha/bin/mocha.js --config spec/suites/http.yml --jobs "$(node -p 'os.availableParallelism()')"
