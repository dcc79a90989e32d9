package delayline

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// CreateTUN makes a TUN device in the calling thread's network namespace and
// returns its descriptor, non-blocking. The device goes when it is closed, also
// when the process is killed. Packets have no header before the IP header.
func CreateTUN(name string) (int, error) {
	const path = "/dev/net/tun"
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: %w: load the tun module, or give the container that device", path, err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("create TUN device %s: %w: it needs CAP_NET_ADMIN, and a name that is free", name, err)
	}
	return fd, nil
}
