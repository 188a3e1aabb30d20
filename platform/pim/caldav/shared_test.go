package caldav_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hob/platform/pim"
)

// TestSharedLists uses the responses of real servers for shared lists.
func TestSharedLists(t *testing.T) {
	const me = `<d:current-user-principal><d:href>/p/me/</d:href></d:current-user-principal>`
	for name, x := range map[string]struct {
		props  string
		shared bool
	}{
		"without information":     {"", false},
		"the owner's":             {me + `<d:owner><d:href>/p/me</d:href></d:owner>`, false},
		"not shared":              {me + `<d:share-access><d:not-shared/></d:share-access><s:invite/><o:invite/>`, false},
		"owned by another user":   {me + `<d:owner><d:href>/p/eve/</d:href></d:owner>`, true},
		"shared with me":          {`<d:share-access><d:read-write/></d:share-access>`, true},
		"shared by me":            {`<s:invite><s:user><d:href>mailto:eve@example.org</d:href></s:user></s:invite>`, true},
		"shared by me, Nextcloud": {`<o:invite><o:user><d:href>principal:principals/users/eve</d:href></o:user></o:invite>`, true},
		"marked as shared":        {`<d:resourcetype><d:collection/><c:calendar/><s:shared-owner/></d:resourcetype>`, true},
		"marked as mine":          {`<d:resourcetype><d:collection/><c:calendar/><s:shared/></d:resourcetype>`, true},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				body := `<c:calendar-home-set><d:href>/home/</d:href></c:calendar-home-set>`
				if r.Header.Get("Depth") == "1" {
					body = `<d:displayname>Hob</d:displayname>` + x.props
					if !strings.Contains(x.props, "resourcetype") {
						body += `<d:resourcetype><d:collection/><c:calendar/></d:resourcetype>`
					}
				}
				w.WriteHeader(http.StatusMultiStatus)
				_, _ = fmt.Fprintf(w, `<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/" xmlns:o="http://owncloud.org/ns">`+
					`<d:response><d:href>/home/hob/</d:href><d:propstat><d:prop>%s</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>`, body)
			}))
			defer srv.Close()
			a := pim.Account{Name: "home", Servers: pim.Servers{pim.CalDAV: srv.URL + "/home/"}, User: "x", Secret: func(context.Context) (string, error) { return "x", nil }}
			c := openClient(t, a)
			lists, err := c.Lists(t.Context())
			if err != nil || len(lists) != 1 || lists[0].Shared != x.shared {
				t.Errorf("Lists = %+v, %v", lists, err)
			}
		})
	}
}
