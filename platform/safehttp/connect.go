package safehttp

import (
	"context"
	"net"
)

// Connect opens a connection for a program with its own protocol, such as a
// browser, to a web "host:port" (scheme is "http" or "https"). It applies the
// same checks as a request. It never connects to this machine, whatever the
// configuration allows, because a page's scripts could then act as the user.
// Errors are an *Error or the context's.
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
