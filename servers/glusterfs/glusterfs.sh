#!/bin/sh
# glusterfs.sh load STATE RUN ADDRESS DATA: loads the dataset in DATA into the bricks in the
# folder STATE, if it is not loaded.
# glusterfs.sh serve STATE RUN ADDRESS: serves what is loaded on port 8082.
#
# Needs root, and a mount namespace of its own, with which its mounts go: what belongs to
# glusterd in /var and /run is then in the folders STATE and RUN. All clients of the volume are
# here, so that it has no replicas and no self-healing: files are spread over the bricks.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
action=$1 state=$2 run=$3 address=$4
bricks=3

if [ "$(readlink /proc/self/ns/mnt)" = "$(readlink /proc/1/ns/mnt)" ]; then
    echo "glusterfs.sh: this is the machine's own mount namespace: start it with unshare --mount" >&2
    exit 2
fi
for folder in lib/glusterd:"$state/glusterd" log/glusterfs:"$run/log" run/gluster:"$run/gluster"; do
    mkdir -p "/var/${folder%%:*}" "${folder#*:}"
    mount --bind "${folder#*:}" "/var/${folder%%:*}"
done
mount=$run/mount
mkdir -p "$mount"

cli() { gluster --mode=script --glusterd-sock="$run/glusterd.socket" "$@"; }

# await WHAT COMMAND...: polls for half a minute.
await() {
    what=$1
    shift
    deadline=$(($(date +%s) + 30))
    until "$@" >/dev/null 2>&1; do
        if [ "$(date +%s)" -gt $deadline ]; then
            echo "glusterfs.sh: $what: not within 30 s; the end of glusterd's log:" >&2
            tail -n 3 "$run/log/glusterd.log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

# The files of bricks that ended name processes that may be others by now: glusterd would
# take these for the bricks, and start none.
start_glusterd() {
    rm -f "$run"/gluster/vols/dataset/*.pid
    sed "s|^ *type mgmt/glusterd|&\n    option glusterd-sockfile $run/glusterd.socket|" /etc/glusterfs/glusterd.vol >"$run/glusterd.vol"
    glusterd --no-daemon --volfile="$run/glusterd.vol" --log-file="$run/log/glusterd.log" --pid-file="$run/glusterd.pid" &
    started=$!
    trap stop EXIT
    trap 'exit 1' HUP INT TERM
    await "glusterd answers" cli pool list
}

all_online() { [ "$(cli volume status dataset detail | grep -c '^Online *: Y')" = $bricks ]; }

start_mount() {
    await "$bricks bricks are online" all_online
    glusterfs --no-daemon --volfile-server="$address" --volfile-id=dataset --log-file="$run/log/mount.log" "$mount" &
    started="$started $!"
    await "the volume is mounted" mountpoint -q "$mount"
}

# stop ends everything at once: glusterd takes 10 s over SIGTERM. What bricks have written
# is the kernel's by then. They are daemons, which glusterd has started.
stop() {
    umount --lazy "$mount" 2>/dev/null || :
    for pid in $started $(cat "$run"/gluster/vols/dataset/*.pid 2>/dev/null); do
        kill -9 "$pid" 2>/dev/null || :
    done
}

files() { (cd "$1" && find flat objects -type f 2>/dev/null | wc -l) || :; }

if [ "$action" = serve ]; then
    start_glusterd
    start_mount
    found=$(files "$mount")
    if [ "$found" != "$(sed -n 2p "$state/loaded")" ]; then
        echo "glusterfs.sh: the volume has $found files, and not those that were loaded: remove $state" >&2
        exit 1
    fi
    # As the baseline, but for the port.
    sed 's/listen 8080 /listen 8082 /' "$here/../nginx/nginx.conf" >"$run/nginx.conf"
    mkdir -p "$run/nginx"
    chown 65534:65534 "$run/nginx"
    setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
        nginx -p "$mount" -c "$run/nginx.conf" -e stderr -g "daemon off; pid $run/nginx/pid;" &
    started="$started $!"
    wait $!
    exit
fi

# What is loaded: names, sizes and times of the dataset's files, and how.
data=$5
key=$({
    cat "$here/glusterfs.sh"
    glusterd --version
    echo "$state $address"
    cd "$data"
    for folder in flat objects; do
        [ ! -d "$folder" ] || find "$folder" -type f -exec stat -c '%n %s %Y' {} + | sort
    done
} | sha256sum)
if [ -e "$state/loaded" ] && [ "$(sed -n 1p "$state/loaded")" = "$key" ]; then
    exit 0
fi

# Its folder is mounted: what is in it goes, and not the folder.
find "$state" -mindepth 1 -maxdepth 1 -name 'brick*' -exec rm -rf {} +
find "$state/glusterd" -mindepth 1 -delete
rm -f "$state/loaded"
start_glusterd
set --
i=1
while [ $i -le $bricks ]; do
    mkdir "$state/brick$i"
    set -- "$@" "$address:$state/brick$i"
    i=$((i + 1))
done
# force: a brick may be on the disk of the system.
cli volume create dataset "$@" force
cli volume start dataset
start_mount
mkdir "$mount/flat" "$mount/objects"
for folder in flat objects; do
    [ ! -d "$data/$folder" ] || cp -r "$data/$folder/." "$mount/$folder/"
done
chmod -R a+rX "$mount/flat" "$mount/objects"
if [ "$(files "$mount")" != "$(files "$data")" ]; then
    echo "glusterfs.sh: the volume has $(files "$mount") files, and the dataset $(files "$data")" >&2
    exit 1
fi
printf '%s\n%s\n' "$key" "$(files "$data")" >"$state/loaded"
