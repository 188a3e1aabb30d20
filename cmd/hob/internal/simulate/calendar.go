package simulate

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// calendar serves an account's calendar over CalDAV (RFC 4791). It supports only what a client
// needs to read a single calendar.
type calendar struct {
	line *pipeListener

	mu      sync.Mutex
	order   []string
	events  map[string]event
	changes int
}

// accountCalendar returns the calendar of an account. It creates the calendar on first use.
func (w *world) accountCalendar(account string) *calendar {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.cals[account]; c != nil {
		return c
	}
	c := &calendar{events: map[string]event{}}
	c.line = w.serveLine(c, true)
	w.cals[account] = c
	return c
}

// addEvent adds an event to the calendar, or replaces the event with the same name.
func (w *world) addEvent(in Input) error {
	a, err := w.p.accountOf(in.To)
	if err != nil {
		return err
	}
	e, err := parseEvent(in.Body, w.p.zone)
	if err != nil {
		return err
	}
	c := w.accountCalendar(a.Name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.events[e.uid]; !there {
		c.order = append(c.order, e.uid)
	}
	c.events[e.uid] = e
	c.changes++
	return nil
}

const davHead = `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/">`

// ServeHTTP implements http.Handler.
func (c *calendar) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the response always contains the full calendar
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	b.WriteString(davHead)
	switch r.Method {
	case "PROPFIND":
		fmt.Fprintf(&b, `<d:response><d:href>/</d:href><d:propstat><d:prop><d:resourcetype><d:collection/><c:calendar/></d:resourcetype>`+
			`<d:displayname>Calendar</d:displayname><s:getctag>%d</s:getctag></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`, c.changes)
	case "REPORT":
		for i, uid := range c.order {
			data := c.events[uid].formatICS()
			fmt.Fprintf(&b, `<d:response><d:href>/%d.ics</d:href><d:propstat><d:prop><d:getetag>"%x"</d:getetag><c:calendar-data>`, i, sha256.Sum256([]byte(data)))
			_ = xml.EscapeText(&b, []byte(data)) // writing to memory cannot fail
			b.WriteString(`</c:calendar-data></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`)
		}
	default:
		out.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	b.WriteString(`</d:multistatus>`)
	out.Header().Set("Content-Type", "application/xml; charset=utf-8")
	out.WriteHeader(http.StatusMultiStatus)
	_, _ = out.Write(b.Bytes()) // the client may have disconnected
}
