package safehttp

import (
	"context"
	"net"
)

// Connect makes a connection for a program that speaks for itself, such as a
// browser: to a "host:port" of the web (scheme is "http" or "https"), looked at
// like every other. It never leads to this machine, whatever is allowed: what a
// page's scripts send there would come from the owner. Errors are an *Error or
// the context's.
func (c *Client) Connect(ctx context.Context, scheme, hostport string) (net.Conn, error) {
	address := scheme + "://" + hostport
	if t, err := parse(address); err == nil && (t.host.loopback() || t.host.addr.IsLoopback()) {
		return nil, inside(t.host.name, class{is: thisMachine, never: true})
	}
	t, err := c.target(address)
	if err != nil {
		return nil, err
	}
	if t.url.Path != "/" || t.url.RawQuery != "" {
		return nil, refuse(BadURL, t.url.Host, "not a HOST:PORT address", "")
	}
	d := &dialer{c: c, t: t, abroad: true}
	conn, err := d.dial(ctx, "", "")
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	return conn, nil
}
