// Package nettest gives tests the ports for servers that other programs start.
package nettest

import (
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"testing"
)

// Ports are chosen below the range of ephemeral ports (32768 and above on Linux, 49152 and above
// elsewhere). Otherwise a server of a test that runs at the same time could take the port before
// the other program listens on it, or while that program is restarted.
const lowestPort, highestPort = 20000, 32000

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens. No other call returns it, in
// this process or in another, until the test ends: on Linux a listener on 127.0.0.2 reserves it.
func FreePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(lowestPort + rand.IntN(highestPort-lowestPort)) //nolint:gosec // the port need not be unpredictable
		if runtime.GOOS == "linux" {
			reservation, err := net.Listen("tcp", "127.0.0.2:"+port) //nolint:noctx // returns at once
			if err != nil {
				continue
			}
			t.Cleanup(func() { _ = reservation.Close() })
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+port) //nolint:noctx // returns at once
		if err != nil {
			continue
		}
		_ = l.Close()
		return port
	}
	t.Fatalf("no port from %d to %d is free", lowestPort, highestPort)
	return ""
}
