//go:build !linux && !darwin && !windows

package system

import (
	"errors"
	"net/netip"
)

func clientOf(netip.AddrPort, netip.AddrPort, Tree, bool) (Client, error) {
	return ClientUnknown, errors.ErrUnsupported
}

func startedBy(int, Tree) bool { return false }
