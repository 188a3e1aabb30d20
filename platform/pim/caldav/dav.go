package caldav

import (
	"encoding/xml"
	"net/url"
	"strings"
)

// multistatus contains the parts of a response that are used (RFC 4918, 14).
type multistatus struct {
	XMLName   xml.Name   `xml:"DAV: multistatus"`
	Responses []response `xml:"DAV: response"`
}

type response struct {
	Href   string     `xml:"DAV: href"`
	Status string     `xml:"DAV: status"`
	Stats  []propstat `xml:"DAV: propstat"`
}

type propstat struct {
	Status string `xml:"DAV: status"`
	Prop   prop   `xml:"DAV: prop"`
}

type prop struct {
	Name      string   `xml:"DAV: displayname"`
	ETag      string   `xml:"DAV: getetag"`
	SyncToken string   `xml:"DAV: sync-token"`
	CTag      string   `xml:"http://calendarserver.org/ns/ getctag"`
	Data      string   `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
	Principal hrefs    `xml:"DAV: current-user-principal"`
	Homes     hrefs    `xml:"urn:ietf:params:xml:ns:caldav calendar-home-set"`
	Outbox    hrefs    `xml:"urn:ietf:params:xml:ns:caldav schedule-outbox-URL"`
	Card      string   `xml:"urn:ietf:params:xml:ns:carddav address-data"`
	Books     hrefs    `xml:"urn:ietf:params:xml:ns:carddav addressbook-home-set"`
	Owner     hrefs    `xml:"DAV: owner"`
	Type      resource `xml:"DAV: resourcetype"`
	Takes     takes    `xml:"urn:ietf:params:xml:ns:caldav supported-calendar-component-set"`
	// The properties that list the people who can access a shared collection: CalendarServer
	// (caldav-sharing.txt, 5.2), Nextcloud, and draft-pot-webdav-resource-sharing-04, 5.2.
	Invited invited  `xml:"http://calendarserver.org/ns/ invite"`
	Given   invited  `xml:"http://owncloud.org/ns invite"`
	Sharing *sharing `xml:"DAV: share-access"`
}

// isShared reports whether other people can write to the collection according to the server: it
// belongs to another user or is shared.
func (p prop) isShared(at *url.URL) bool {
	switch {
	case p.Type.Shared != nil, p.Type.SharedOwner != nil, len(p.Invited.Users)+len(p.Given.Users) > 0:
		return true
	case p.Sharing != nil && p.Sharing.Not == nil:
		return true
	case len(p.Owner.Href) == 0 || len(p.Principal.Href) == 0:
		return false
	}
	owner, err := at.Parse(p.Owner.Href[0])
	me, err2 := at.Parse(p.Principal.Href[0])
	return err != nil || err2 != nil || strings.Trim(owner.Path, "/") != strings.Trim(me.Path, "/")
}

type invited struct {
	Users []struct{} `xml:"user"`
}

type sharing struct {
	Not *struct{} `xml:"DAV: not-shared"`
}

type hrefs struct {
	Href []string `xml:"DAV: href"`
}

type resource struct {
	Calendar *struct{} `xml:"urn:ietf:params:xml:ns:caldav calendar"`
	Book     *struct{} `xml:"urn:ietf:params:xml:ns:carddav addressbook"`
	// The resource types of a calendar that its owner shares, and of a calendar that was shared
	// with the user (caldav-sharing.txt, 5.2.1).
	SharedOwner *struct{} `xml:"http://calendarserver.org/ns/ shared-owner"`
	Shared      *struct{} `xml:"http://calendarserver.org/ns/ shared"`
}

type takes struct {
	Comp []struct {
		Name string `xml:"name,attr"`
	} `xml:"urn:ietf:params:xml:ns:caldav comp"`
}

// supportsComponent reports whether the calendar accepts components of a kind. A calendar that
// declares no kinds accepts all.
func (t takes) supportsComponent(kind string) bool {
	for _, c := range t.Comp {
		if strings.EqualFold(c.Name, kind) {
			return true
		}
	}
	return len(t.Comp) == 0
}

// isTruncated reports whether a response for the calendar itself states that the result is
// incomplete (RFC 6578, 3.6) or unreadable.
func (r response) isTruncated() bool { return r.Status != "" && !strings.Contains(r.Status, " 200") }

// mergeProps returns the properties that the server found, which have status 200.
func (r response) mergeProps() (p prop) {
	for _, s := range r.Stats {
		if s.Status == "" || strings.Contains(s.Status, " 200") {
			return s.Prop
		}
	}
	return p
}

const (
	askHome = `<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/"><d:prop>` +
		`<d:current-user-principal/><c:calendar-home-set/><d:resourcetype/><d:displayname/><s:getctag/><d:sync-token/></d:prop></d:propfind>`
	askCalendars = `<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/" xmlns:o="http://owncloud.org/ns"><d:prop>` +
		`<d:current-user-principal/><d:owner/><s:invite/><o:invite/><d:share-access/><d:resourcetype/><d:displayname/><s:getctag/><d:sync-token/><c:supported-calendar-component-set/></d:prop></d:propfind>`
	askTodos = `<?xml version="1.0"?><c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop><d:getetag/><c:calendar-data/></d:prop>` +
		`<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VTODO">%s</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>`
	notDone   = `<c:prop-filter name="COMPLETED"><c:is-not-defined/></c:prop-filter>`
	askEvents = `<?xml version="1.0"?><c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop><d:getetag/><c:calendar-data/></d:prop>` +
		`<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"><c:time-range start="%s" end="%s"/></c:comp-filter></c:comp-filter></c:filter></c:calendar-query>`
)
