package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// network is a network namespace with a cable to the namespace of the test, over which the instance in it
// reaches the database.
type network struct {
	name, cable string
	address     string // of the test's end of the cable
	home, own   *os.File
}

// newNetworks creates namespaces, or returns why this machine does not permit it.
func newNetworks(t *testing.T, count int) (out []*network, err error) {
	for i := range count {
		id := os.Getpid() % 10_000
		n := &network{
			name: fmt.Sprintf("hobtest-%d-%d", id, i), cable: fmt.Sprintf("hob%d-%d", id, i),
			address: fmt.Sprintf("10.%d.%d.%d", 200+id%50, id/50, 4*i+1),
		}
		t.Cleanup(n.removeAll)
		for _, c := range [][]string{
			{"netns", "add", n.name},
			{"link", "add", n.cable, "type", "veth", "peer", "name", "cable", "netns", n.name},
			{"addr", "add", n.address + "/30", "dev", n.cable},
			{"link", "set", n.cable, "up"},
			{"-n", n.name, "addr", "add", fmt.Sprintf("10.%d.%d.%d/30", 200+id%50, id/50, 4*i+2), "dev", "cable"},
			{"-n", n.name, "link", "set", "cable", "up"},
			{"-n", n.name, "link", "set", "lo", "up"},
		} {
			if err := runIP(c...); err != nil {
				return nil, err
			}
		}
		if n.home, err = os.Open("/proc/self/ns/net"); err != nil {
			return nil, err
		}
		if n.own, err = os.Open("/run/netns/" + n.name); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func runIP(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}

// removeAll removes what newNetworks created, also if it created only a part.
func (n *network) removeAll() {
	_ = n.home.Close()
	_ = n.own.Close()
	_ = runIP("link", "del", n.cable)
	_ = runIP("netns", "del", n.name)
}

// setCable connects or cuts the cable. Nobody at its ends is told: what is sent gets lost.
func (n *network) setCable(up bool) error {
	state := "down"
	if up {
		state = "up"
	}
	return runIP("link", "set", n.cable, state)
}

// runInside runs f with the calling thread in the namespace.
func (n *network) runInside(f func() error) error {
	runtime.LockOSThread()
	if err := unix.Setns(int(n.own.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err := f()
	if herr := unix.Setns(int(n.home.Fd()), unix.CLONE_NEWNET); herr != nil {
		return errors.Join(err, herr) // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// dialInside connects to an address in the namespace.
func (n *network) dialInside(ctx context.Context, kind, address string) (c net.Conn, err error) {
	err = n.runInside(func() (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, kind, address)
		return err
	})
	return c, err
}

// listenInside listens at an address in the namespace.
func (n *network) listenInside(address string) (ln net.Listener, err error) {
	err = n.runInside(func() (err error) {
		ln, err = net.Listen("tcp", address)
		return err
	})
	return ln, err
}

// programPrefix returns the command that starts a program in the namespace.
func (n *network) programPrefix() []string {
	return []string{"nsenter", "--net=/run/netns/" + n.name, "--"}
}
