#!/bin/bash
# First process of a node's own network, mount and process namespaces: prepares them, then runs the supervisor beside it.
# It is bash because the first process must also collect the orphans of every container, which node does not do.
# Everything done here disappears with the namespaces; nothing is written outside of DIR.
set -eu
dir=$1 node=$2

# Programs that insist on their own folders get private ones. /var/lib is overlaid, so no mount point is left behind in it.
private=$dir/private
mkdir -p "$private"
mount -t tmpfs tmpfs "$private"
mkdir "$private/upper" "$private/work"
mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$private/upper,workdir=$private/work" /var/lib
mkdir -p /var/lib/kubelet /var/lib/cni
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log

# The kubelet wants these set for the whole machine; it finds them so, and the machine stays as it was.
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
  file=$private/$(basename "${setting%=*}")
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done

# 10.111.0.1 is the node. Services have a route so that local processes get as far as the rules which rewrite their address;
# there is no default route, so that anything beyond fails at once.
ip link set lo up
ip link add node0 type veth peer name node0-peer
ip addr add 10.111.0.1/24 dev node0
ip link set node0 up
ip link set node0-peer up
ip route add 10.96.0.0/16 via 10.111.0.254 dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward

"$node" "$dir/inside.mjs" "$dir" &
wait $!
