package caldav

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/compose"
	"hob/platform/pim/ics"
)

const askOutbox = `<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop>` +
	`<d:current-user-principal/><c:schedule-outbox-URL/></d:prop></d:propfind>`

// Availability contains the busy times of a person. Err is set if the server does not know them.
type Availability struct {
	Busy []pim.TimeRange
	Err  error
}

// scheduleResponse is the response to a request in an outbox (RFC 6638, 10.1).
type scheduleResponse struct {
	XMLName   xml.Name `xml:"urn:ietf:params:xml:ns:caldav schedule-response"`
	Responses []struct {
		Recipient hrefs  `xml:"urn:ietf:params:xml:ns:caldav recipient"`
		Status    string `xml:"urn:ietf:params:xml:ns:caldav request-status"`
		Data      string `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
	} `xml:"urn:ietf:params:xml:ns:caldav response"`
}

// FreeBusy asks the server when people are busy (RFC 6638, 5). The result contains the people that
// the response mentions, by address in lower case. It returns pim.ErrNoServer if the server
// has no outbox. The account needs an address.
func (c *Client) FreeBusy(ctx context.Context, people []pim.Person, s ics.Span) (map[string]Availability, error) {
	outbox, err := c.findOutbox(ctx)
	if err != nil {
		return nil, err
	}
	from := pim.Person{Address: c.account.Address}
	request := ics.FreeBusyRequest(compose.NewID(c.account.Address), from, people, s, time.Now())
	header := map[string]string{"Content-Type": "text/calendar; charset=utf-8", "Originator": "mailto:" + from.Address}
	status, _, data, err := c.requestObject(ctx, http.MethodPost, outbox, header, request)
	if err == nil {
		err = errorForStatus("free/busy", status)
	}
	if err != nil {
		return nil, c.wrapError(err)
	}
	var r scheduleResponse
	if err := xml.NewDecoder(bytes.NewReader(data)).Decode(&r); err != nil {
		return nil, c.wrapError(fmt.Errorf("free/busy: the response is not valid XML: %w", err))
	}
	out := map[string]Availability{}
	for _, x := range r.Responses {
		if len(x.Recipient.Href) == 0 {
			continue
		}
		address := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(x.Recipient.Href[0])), "mailto:")
		var a Availability
		if !strings.HasPrefix(strings.TrimSpace(x.Status), "2.") {
			a.Err = c.wrapError(fmt.Errorf("free/busy: the server answered %q", pim.SanitizeLine(x.Status, 100)))
		} else {
			a.Busy, a.Err = ics.BusyTimes([]byte(x.Data), s)
		}
		out[address] = a
	}
	return out, nil
}

// findOutbox returns the address of the user's scheduling outbox (RFC 6638, 2.1.1).
func (c *Client) findOutbox(ctx context.Context) (string, error) {
	at, p, err := c.discoverPrincipal(ctx)
	if err != nil {
		return "", err
	}
	if len(p.Principal.Href) > 0 {
		if at, err = at.Parse(p.Principal.Href[0]); err != nil {
			return "", c.account.Errorf("the server returned an invalid principal")
		}
	}
	ms, where, err := c.requestXML(ctx, "PROPFIND", at, "0", askOutbox)
	if err != nil {
		return "", err
	}
	for _, r := range ms.Responses {
		if box := r.mergeProps().Outbox.Href; len(box) > 0 {
			to, err := where.Parse(strings.TrimSpace(box[0]))
			if err != nil {
				return "", c.account.Errorf("the server returned an invalid outbox")
			}
			return to.String(), nil
		}
	}
	return "", c.account.Errorf("%w: the calendar server has no scheduling outbox", pim.ErrNoServer)
}
