//go:build unix && !linux

package fleet

import (
	"context"
	"errors"
	"net"
	"testing"
)

// network is a network namespace, which only Linux has.
type network struct{ address string }

func newNetworks(*testing.T, int) ([]*network, error) {
	return nil, errors.New("only Linux has network namespaces")
}

func (*network) setCable(bool) error { return errors.ErrUnsupported }

func (*network) dialInside(context.Context, string, string) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}

func (*network) listenInside(string) (net.Listener, error) { return nil, errors.ErrUnsupported }
func (*network) programPrefix() []string                   { return nil }
