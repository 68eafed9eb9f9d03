set -eu
mkdir public
sed "s/VERSION/$VERSION/" index.html > public/index.html
cp style.css public/
echo "bytes=$(cat public/* | wc -c | tr -d ' ')" >> "$OUTPOST_OUTPUT"
