#!/bin/sh
# weed.sh load WEED STATE DATA: loads the dataset in DATA into the folder STATE, if it is
# not loaded.
# weed.sh serve WEED STATE: serves what is loaded, the filer on port 8888.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
action=$1 weed=$2 state=$3
cd "$state"

# All in one process: one master, one volume server whose index is in memory, one filer.
# They find one another on loopback; clients see only the filer. 8080, the volume server's
# usual port, is nginx's. A master that is alone needs no time for an election.
"$weed" version >/dev/null # or say that it does not run
start() {
    "$weed" -config_dir="$here" -logtostderr=true server \
        -ip=127.0.0.1 -ip.bind=0.0.0.0 -dir=volumes -volume.port=8090 -volume.index=memory \
        -volume.max=1000 -master.volumeSizeLimitMB=1024 -master.dir=master \
        -master.electionTimeout=1s -master.telemetry=false \
        -filer -filer.port=8888 -filer.disableDirListing &
    server=$!
    trap stop EXIT
    trap 'exit 1' HUP INT TERM
}

# SIGTERM takes weed 15 s. What it has written is the kernel's by then.
stop() {
    kill -9 $server 2>/dev/null || :
    rm -rf loading
    rm -f /tmp/seaweedfs-filer-8888.sock /tmp/seaweedfs-filer-grpc-18888.sock \
        /tmp/seaweedfs-master-grpc-19333.sock /tmp/seaweedfs-volume-grpc-18090.sock
}

if [ "$action" = serve ]; then
    start
    wait $server
    exit
fi

# What is loaded: names, sizes and times of the dataset's files, and how.
data=$4
key=$({
    cat "$here/weed.sh" "$here/filer.toml"
    "$weed" version
    cd "$data"
    for folder in flat objects; do
        [ ! -d "$folder" ] || find "$folder" -type f -exec stat -c '%n %s %Y' {} + | sort
    done
} | sha256sum)
if [ -e loaded ] && [ "$(cat loaded)" = "$key" ]; then
    exit 0
fi

rm -rf loaded loading volumes master filer
mkdir -p volumes master loading
ln -s "$data/flat" loading/piece
[ ! -d "$data/objects" ] || ln -s "$data/objects" loading/object

start >load.log 2>&1
copy() { "$weed" filer.copy "$@" loading/* http://127.0.0.1:8888/; }
tries=0
until copy >copy.log 2>&1; do
    tries=$((tries + 1))
    if [ $tries = 60 ] || ! kill -0 $server 2>/dev/null; then
        tail -n 3 load.log copy.log >&2
        echo "the dataset was not loaded into SeaweedFS: $state has its logs" >&2
        exit 1
    fi
    sleep 1
done
# Nothing is left to copy, if all of it is there.
if copy -check.size 2>&1 | grep '^copied'; then
    echo "the files above were not loaded into SeaweedFS at once: run it again; $state has its logs" >&2
    exit 1
fi
echo "$key" >loaded
