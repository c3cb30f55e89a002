#!/usr/bin/env bash
# Runs specs on another version of Node, in a compiled copy of this repository: scripts/spec-node.sh 24 runs all of them, and
# scripts/spec-node.sh 24 --http those over HTTP (spec/suites/http.yml) on SQLite.
set -euo pipefail
version=${1:?Pass a version of Node: npm run spec:node -- 24}
suite=${2:-}
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The package of this platform has node and its headers. Version 13 of the driver has binaries for each platform.
platform=$(node -p '`node-${process.platform}-${process.arch}`')
npm install --silent --no-save --no-audit --no-fund --prefix "$folder/node" "$platform@$version" better-sqlite3@13
node="$folder/node/node_modules/$platform"
# Since 24.19, a better-sqlite3 12 that is compiled with Node's headers ends the process at a garbage collection
# (nodejs/node#65446). Binaries that are downloaded were compiled before. Without these two calls, the headers are the same.
sed -i.original '/^ *\(Add\|Remove\)CleanupHook();$/d' "$node/include/node/node_object_wrap.h"

cp -a . "$folder/kit"
cd "$folder/kit"
export PATH="$node/bin:$PATH"
name="Node $(node -p 'process.versions.node')"
# Compiled with optimization, SQLite takes a minute longer.
CFLAGS=-O0 CXXFLAGS=-O0 JOBS=max npm_config_nodedir="$node" npm rebuild --silent better-sqlite3 >/dev/null
if [ "$suite" != --http ]; then
  echo "All specs with $name:"
  node scripts/test.js
  exit
fi
status=0
echo "On SQLite with $name:"
node node_modules/mocha/bin/mocha.js --config spec/suites/http.yml || status=$?

# On Node 20, which runs all other specs, this version ends the process.
echo "On SQLite with $name and better-sqlite3 13:"
rm -r node_modules/better-sqlite3
cp -a "$folder/node/node_modules/better-sqlite3" node_modules
node node_modules/mocha/bin/mocha.js --no-config --require dist/spec/support/setup.js --timeout 300000 --exit --reporter dot \
  dist/spec/acceptance/pages/round-trip.spec.js 'dist/spec/database/engines/sqlite/**/*.spec.js' || status=$?
exit "$status"
