package safehttp

import (
	"context"
	"net"
)

// Connect opens a connection to a web "host:port" (scheme is "http" or "https") for a program with
// its own protocol, such as a browser. It applies the same checks as a request. It never connects
// to this machine, even if the configuration allows it, because scripts of a page could then act as
// the user. Errors are *Error or the context's error.
func (c *Client) Connect(ctx context.Context, scheme, hostport string) (net.Conn, error) {
	address := scheme + "://" + hostport
	if t, err := parseURL(address); err == nil && (t.host.isLoopback() || t.host.addr.IsLoopback()) {
		return nil, privateAddrError(t.host.name, class{is: thisMachine, never: true})
	}
	t, err := c.parseTarget(address)
	if err != nil {
		return nil, err
	}
	if t.url.Path != "/" || t.url.RawQuery != "" {
		return nil, newRefusal(BadURL, t.url.Host, "not a HOST:PORT address", "")
	}
	d := &dialer{c: c, t: t, abroad: true}
	conn, err := d.dialContext(ctx, "", "")
	if err != nil {
		return nil, d.classifyError(ctx, err)
	}
	return conn, nil
}
