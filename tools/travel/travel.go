// Package travel provides get_directions (OSRM), flight_status (aviationstack or FlightAware's
// AeroAPI), packing_list, world_clock and sun_times. The services and their addresses are
// configurable. world_clock and sun_times compute their answers and use no network.
//
// A service that fails, or answers with something else than its documented format, leads to one
// error that names it. The package never fills in a value that a service did not return.
package travel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxBody is the maximum size of a response in bytes.
const maxBody = 4 << 20

// Forecast is the weather at a place. Unknown values are nil.
type Forecast struct {
	Place      string
	Min, Max   *float64 // degrees Celsius
	Rain, Snow bool
}

// Deps are the dependencies of the tools.
type Deps struct {
	// Network sends the requests. If it is nil, the tools that need it are omitted.
	Network *safehttp.Client
	// Travel names the services: OSRM, Nominatim, and AviationStack or AeroAPI.
	config.Travel
	// Secret resolves a reference to a secret. If it is nil, there are no keys.
	Secret func(ctx context.Context, ref string) (string, error)
	// Place is the owner's home: a town, or "latitude,longitude". It is "" if not configured.
	Place string
	// Store stores the packing lists; required.
	Store *store.Store
	// Forecast returns the weather at a place for some days from today. If it is nil, packing lists
	// use only the weather that the call states.
	Forecast func(ctx context.Context, place string, days int) (Forecast, error)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	out := []tools.Tool{d.packingList(), d.worldClock(), d.sunTimes()}
	if d.Network != nil {
		out = append(out, d.getDirections(), d.flightStatus())
	}
	return out
}

// fetchJSON requests an address of a configured service and decodes its response. base is the
// configured address; what names the request in errors. A response with an error status is decoded
// too if keep reports that the service describes errors with that status in JSON.
func (d Deps) fetchJSON(ctx context.Context, what, base, address string, header http.Header, keep func(status int) bool, into any) (status int, err error) {
	host := "the configured service"
	if u, err := url.Parse(base); err == nil {
		host = u.Host
	}
	fail := func(cause, remedy string) error {
		return &tools.Error{Code: tools.Failed, Message: what + ": " + host + " " + cause, Remedy: remedy, Source: provenance.Tool}
	}
	client, err := d.Network.Named(strings.ReplaceAll(base, "{profile}", "car"))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept", "application/json")
	r, err := client.Fetch(ctx, safehttp.Request{URL: address, MaxBody: maxBody, Header: header})
	if err != nil {
		if e, is := errors.AsType[*safehttp.Error](err); is {
			return 0, &tools.Error{Code: tools.Failed, Message: what + ": " + e.Message, Remedy: cmp.Or(e.Remedy, "try again later"), Err: err, Source: provenance.Outside}
		}
		return 0, err
	}
	ok := r.Status == http.StatusOK
	switch {
	case r.Status == http.StatusTooManyRequests:
		return r.Status, fail("answered that there were too many requests (429)", "try again later")
	case !ok && !keep(r.Status):
		return r.Status, fail(fmt.Sprintf("answered with HTTP status %d", r.Status), "try again later, or check the address in [travel]")
	case len(strings.TrimSpace(string(r.Body))) == 0:
		return r.Status, fail("returned an empty response", "try again later")
	}
	if json.Unmarshal(r.Body, into) != nil {
		if !ok {
			return r.Status, fail(fmt.Sprintf("answered with HTTP status %d", r.Status), "try again later, or check the address in [travel]")
		}
		return r.Status, fail("did not return valid JSON", "check the address in [travel]")
	}
	return r.Status, nil
}

// keepNone keeps the keep argument of fetchJSON for services without documented errors.
func keepNone(int) bool { return false }

// cleanLine returns untrusted text as one line of at most n characters.
func cleanLine(s string, n int) string { return pim.SanitizeLine(s, n) }

// webOrigin returns the origin of a result.
func webOrigin(tool, base string) []provenance.Origin {
	return []provenance.Origin{{Kind: "web", Label: base, Via: tool}}
}

// spellDuration formats a duration: "45 min", "1 h 18 min".
func spellDuration(d time.Duration) string {
	d = d.Round(time.Minute)
	h, m := int(d/time.Hour), int(d%time.Hour/time.Minute)
	switch {
	case h == 0:
		return fmt.Sprintf("%d min", m)
	case m == 0:
		return fmt.Sprintf("%d h", h)
	}
	return fmt.Sprintf("%d h %d min", h, m)
}

// argumentText returns an argument for an error message.
func argumentText(s string) tools.Clean { return tools.Clean(textnorm.Ellipsize(s, 80)) }
