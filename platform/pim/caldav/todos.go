package caldav

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
)

// Lists finds the user's calendars for tasks. There may be none.
func (c *Client) Lists(ctx context.Context) ([]pim.Calendar, error) {
	return c.collectionsSupporting(ctx, "VTODO")
}

// Todos returns the tasks of one list: the open ones, or all if done is set. It skips tasks that
// the server omits or that cannot be parsed, and reports them in a PartialError.
func (c *Client) Todos(ctx context.Context, list pim.Calendar, done bool, zone *time.Location) ([]pim.Reminder, error) {
	at, err := url.Parse(list.Path)
	if err != nil {
		return nil, c.account.Errorf("%w: %q", pim.ErrNoFolder, pim.SanitizeLine(list.Path, 100))
	}
	filter := notDone
	if done {
		filter = ""
	}
	ms, _, err := c.requestXML(ctx, "REPORT", at, "1", fmt.Sprintf(askTodos, filter))
	if err != nil {
		return nil, err
	}
	out := []pim.Reminder{}
	var bad PartialError
	for _, r := range ms.Responses {
		p := r.mergeProps()
		to, uerr := at.Parse(r.Href)
		if p.Data == "" {
			if uerr != nil || strings.Trim(to.Path, "/") != strings.Trim(at.Path, "/") || r.isTruncated() {
				bad.addBroken("", fmt.Errorf("the server did not return %s", pim.SanitizeLine(r.Href, 100)))
			}
			continue // some servers also return the list itself
		}
		found, err := ics.Todos([]byte(p.Data), zone)
		if err != nil || uerr != nil {
			bad.addBroken(p.Data, errors.Join(err, uerr))
		}
		for _, x := range found {
			if x.Done && !done || uerr != nil {
				continue
			}
			x.List, x.ListID, x.Shared, x.Ref = list.Name, list.Path, list.Shared, to.String()
			out = append(out, x)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if len(bad.errs) > 0 {
		return out, &bad
	}
	return out, nil
}
