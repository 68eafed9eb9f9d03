#!/bin/sh
# Runs schemathesis against a service: schemathesis.sh URL API_KEY [arguments]. Installs it into the cache folder the first time.
set -eu
url=$1 key=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
venv="${XDG_CACHE_HOME:-$HOME/.cache}/outpost/schemathesis-4.32.5"
if [ ! -f "$venv/.done" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q schemathesis==4.32.5
  touch "$venv/.done"
fi
# The exchange and the watch wait by design; deleting its own key would end the run.
exec "$venv/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$here/../../openapi/contract/openapi.json" --url "$url" \
  -H "Authorization: Bearer $key" --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method \
  --exclude-operation-id watch --exclude-operation-id deleteApiKey --exclude-operation-id exchange --request-timeout 30 "$@"
