package travel

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type routeIn struct {
	From   string `json:"from,omitempty" jsonschema:"start: an address, a place, or latitude,longitude; default the user's home town"`
	To     string `json:"to" jsonschema:"destination: an address, a place, or latitude,longitude"`
	Mode   string `json:"mode,omitempty" jsonschema:"driving, cycling or walking (default driving)"`
	Depart string `json:"depart_time,omitempty" jsonschema:"departure; the result then states the arrival"`
	Arrive string `json:"arrive_by,omitempty" jsonschema:"latest arrival; the result then states when to leave"`
}

// point is a place on the map.
type point struct {
	Name string  `json:"name"`
	Lat  float64 `json:"lat"`
	Lon  float64 `json:"lon"`
}

// routeStep is one instruction.
type routeStep struct {
	Text   string  `json:"text"`
	Meters float64 `json:"distance_m"`
}

// routeOut is the Data of get_directions.
type routeOut struct {
	From    point       `json:"from"`
	To      point       `json:"to"`
	Mode    string      `json:"mode"`
	Km      float64     `json:"distance_km"`
	Minutes int         `json:"duration_minutes"`
	Depart  *time.Time  `json:"departure,omitempty"`
	Arrive  *time.Time  `json:"arrival,omitempty"`
	Steps   []routeStep `json:"steps"`
}

const maxSteps = 40

// travelMode is a mode with the names that OSRM servers use for it.
type travelMode struct{ name, path, profile, words string }

func travelModes() []travelMode {
	return []travelMode{
		{"driving", "driving", "car", "by car"},
		{"cycling", "cycling", "bike", "by bicycle"},
		{"walking", "walking", "foot", "on foot"},
	}
}

func parseMode(s string) (travelMode, error) {
	for _, m := range travelModes() {
		for _, name := range append([]string{m.name, m.profile, m.words}, map[string][]string{"driving": {"drive", ""}, "cycling": {"bicycle", "bicycling"}, "walking": {"walk"}}[m.name]...) {
			if strings.EqualFold(strings.TrimSpace(s), name) {
				return m, nil
			}
		}
	}
	return travelMode{}, tools.Errorf(tools.InvalidArguments, "mode must be driving, cycling or walking, not %q; public transport is not supported", argumentText(s))
}

func (d Deps) getDirections() tools.Tool {
	return tools.New(tools.Def[routeIn]{
		Spec: tools.Spec{
			Name: "get_directions", Category: "travel", Effects: tools.Egress, Timeout: time.Minute,
			Description: "Find the route between two places by car, bicycle or on foot: distance, duration and instructions. Without traffic.",
			Keywords:    "directions route way navigation map drive walk cycle how far distance how long travel time get to",
		},
		Summary: func(in routeIn) string {
			return fmt.Sprintf("Find the way from %s to %s", textnorm.Ellipsize(d.startOf(in), 80), textnorm.Ellipsize(in.To, 80))
		},
		Judge: func(_ context.Context, in routeIn) tools.CallAssessment {
			if err := d.checkRequest(in); err != nil { // before anyone is asked for approval
				return tools.CallAssessment{Refused: err}
			}
			j := tools.CallAssessment{Effects: tools.Egress, Get: true, URLs: []string{strings.ReplaceAll(d.RoutesURL, "{profile}", "car")}}
			for _, place := range []string{d.startOf(in), in.To} {
				if _, _, ok := parsePoint(place); !ok {
					j.URLs = append(j.URLs, d.geocodingURL(place))
				}
			}
			j.Why = "contacts " + hostsOf(j.URLs)
			return j
		},
		Run: d.runDirections,
	})
}

func hostsOf(addresses []string) string {
	var out []string
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil && !strings.Contains(strings.Join(out, " "), u.Host) {
			out = append(out, u.Host)
		}
	}
	return strings.Join(out, ", ")
}

// checkRequest returns an error if a place is missing, too long or not on the map, if the mode is unknown, or
// if both times are given.
func (d Deps) checkRequest(in routeIn) error {
	start := d.startOf(in)
	switch {
	case strings.TrimSpace(in.To) == "" || start == "":
		return &tools.Error{Source: provenance.Tool, Code: tools.InvalidArguments, Message: "directions: start or destination is empty", Remedy: "name both places, or set plan.place"}
	case len(start) > 500 || len(in.To) > 500:
		return tools.Errorf(tools.InvalidArguments, "a place is longer than 500 characters")
	case in.Depart != "" && in.Arrive != "":
		return tools.Errorf(tools.InvalidArguments, "give depart_time or arrive_by, not both")
	}
	for _, place := range []string{start, in.To} {
		if _, _, ok := parsePoint(place); !ok && validPair.MatchString(place) {
			return tools.Errorf(tools.InvalidArguments, "%q is no position; latitudes are -90 to 90 and longitudes -180 to 180", argumentText(place))
		}
	}
	_, err := parseMode(in.Mode)
	return err
}

// validPair matches two decimal numbers, which are a position and not a name.
var validPair = lazyregexp.New(`^\s*-?\d+(\.\d+)?\s*,\s*-?\d+(\.\d+)?\s*$`)

func (d Deps) startOf(in routeIn) string {
	if s := strings.TrimSpace(in.From); s != "" && !strings.EqualFold(s, "home") {
		return s
	}
	return strings.TrimSpace(d.Place)
}

// parsePoint reads "54.69,25.28".
func parsePoint(s string) (lat, lon float64, ok bool) {
	a, b, found := strings.Cut(s, ",")
	lat, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
	lon, lerr := strconv.ParseFloat(strings.TrimSpace(b), 64)
	return lat, lon, found && err == nil && lerr == nil && math.Abs(lat) <= 90 && math.Abs(lon) <= 180
}

func (d Deps) geocodingURL(place string) string {
	return strings.TrimSuffix(d.GeocoderURL, "/") + "/search?" + url.Values{"q": {textnorm.Ellipsize(place, 300)}, "format": {"jsonv2"}, "limit": {"1"}}.Encode()
}

// findPoint finds a place with the geocoder (https://nominatim.org/release-docs/latest/api/Search/).
func (d Deps) findPoint(ctx context.Context, place string) (point, error) {
	if lat, lon, ok := parsePoint(place); ok {
		return point{strings.TrimSpace(place), lat, lon}, nil
	}
	var found []struct {
		Lat         string `json:"lat"`
		Lon         string `json:"lon"`
		DisplayName string `json:"display_name"`
	}
	if _, err := d.fetchJSON(ctx, "find "+textnorm.Ellipsize(place, 60), d.GeocoderURL, d.geocodingURL(place), nil, keepNone, &found); err != nil {
		return point{}, err
	}
	if len(found) == 0 {
		return point{}, tools.Errorf(tools.NotFound, "no place called %q was found; give a more complete address", argumentText(place))
	}
	lat, lon, ok := parsePoint(found[0].Lat + "," + found[0].Lon)
	if !ok {
		return point{}, tools.Errorf(tools.Failed, "the geocoder returned no valid position for %q", argumentText(place))
	}
	return point{cleanLine(found[0].DisplayName, 120), lat, lon}, nil
}

// osrmRoute is a response of the route service (https://project-osrm.org/docs/v5.24.0/api/).
type osrmRoute struct {
	Code   string
	Routes []struct {
		Distance *float64
		Duration *float64
		Legs     []struct {
			Steps []struct {
				Distance float64
				Name     string
				Ref      string
				Maneuver struct {
					Type     string
					Modifier string
					Exit     int
				}
			}
		}
	}
}

func (d Deps) runDirections(ctx context.Context, c tools.Call, in routeIn) (tools.Result, error) {
	mode, err := parseMode(in.Mode)
	if err != nil {
		return tools.Result{}, err
	}
	start := d.startOf(in)
	if err := d.checkRequest(in); err != nil {
		return tools.Result{}, err
	}
	out := routeOut{Mode: mode.name, Steps: []routeStep{}}
	if out.From, err = d.findPoint(ctx, start); err != nil {
		return tools.Result{}, err
	}
	if out.To, err = d.findPoint(ctx, in.To); err != nil {
		return tools.Result{}, err
	}
	length, err := d.findRoute(ctx, mode, &out)
	if err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("%s to %s %s: %s, %s without traffic.", out.From.Name, out.To.Name, mode.words, spellDistance(out.Km*1000), spellDuration(length))
	said, err := out.setTimes(in, length, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	text += said
	for _, s := range out.Steps {
		text += "\n- " + s.Text
		if s.Meters >= 1 {
			text += ", " + spellDistance(s.Meters)
		}
	}
	return tools.Result{Text: text, Data: out, Source: provenance.Outside, Origins: webOrigin("get_directions", d.RoutesURL)}, nil
}

// findRoute requests the route and returns its duration.
func (d Deps) findRoute(ctx context.Context, mode travelMode, out *routeOut) (time.Duration, error) {
	base := strings.ReplaceAll(d.RoutesURL, "{profile}", mode.profile)
	path := mode.path
	if base != d.RoutesURL { // a server for each profile, which all call it driving
		path = "driving"
	}
	coord := func(p point) string {
		return strconv.FormatFloat(p.Lon, 'f', 6, 64) + "," + strconv.FormatFloat(p.Lat, 'f', 6, 64)
	}
	address := fmt.Sprintf("%s/route/v1/%s/%s;%s?overview=false&steps=true", strings.TrimSuffix(base, "/"), path, coord(out.From), coord(out.To))
	var r osrmRoute
	if _, err := d.fetchJSON(ctx, "directions", base, address, nil, func(status int) bool { return status == http.StatusBadRequest }, &r); err != nil {
		return 0, err
	}
	switch r.Code {
	case "Ok":
	case "NoRoute", "NoSegment":
		return 0, tools.Errorf(tools.NotFound, "there is no route between these places %s", tools.Clean(mode.words))
	case "":
		return 0, tools.Errorf(tools.Failed, "directions: the response has no route; check travel.routes_url")
	default:
		return 0, tools.Errorf(tools.Failed, "directions: the service answered with the code %q", cleanLine(r.Code, 40))
	}
	if len(r.Routes) == 0 || r.Routes[0].Distance == nil || r.Routes[0].Duration == nil || *r.Routes[0].Distance < 0 || *r.Routes[0].Duration < 0 || *r.Routes[0].Duration > 60*86400 {
		return 0, tools.Errorf(tools.Failed, "directions: the response has no valid distance and duration")
	}
	length := time.Duration(*r.Routes[0].Duration * float64(time.Second))
	out.Km, out.Minutes = math.Round(*r.Routes[0].Distance/100)/10, int(length.Round(time.Minute).Minutes())
	for _, leg := range r.Routes[0].Legs {
		for _, s := range leg.Steps {
			if len(out.Steps) < maxSteps {
				road := cleanLine(strings.TrimSpace(s.Name+" "+s.Ref), 80)
				out.Steps = append(out.Steps, routeStep{describeManeuver(cleanLine(s.Maneuver.Type, 30), cleanLine(s.Maneuver.Modifier, 20), s.Maneuver.Exit, road), s.Distance})
			}
		}
	}
	return length, nil
}

// describeManeuver formats an instruction: "turn left onto Gedimino pr.".
func describeManeuver(kind, modifier string, exit int, road string) string {
	text := ""
	switch kind {
	case "depart":
		text = "start"
	case "arrive":
		if road != "" {
			return "arrive at " + road
		}
		return "arrive"
	case "roundabout", "rotary":
		text = "enter the roundabout"
		if exit > 0 {
			text += fmt.Sprintf(" and take exit %d", exit)
		}
	case "merge", "on ramp", "off ramp", "fork":
		text = strings.TrimSpace(map[string]string{"merge": "merge", "on ramp": "take the ramp", "off ramp": "take the exit", "fork": "keep"}[kind] + " " + modifier)
	case "new name", "continue", "notification":
		text = "continue"
	default:
		text = "turn " + modifier
		if modifier == "" || modifier == "straight" {
			text = "continue"
		}
	}
	if road != "" {
		text += " on " + road
	}
	return text
}

func spellDistance(meters float64) string {
	if meters < 1000 {
		return fmt.Sprintf("%.0f m", meters)
	}
	return fmt.Sprintf("%.1f km", meters/1000)
}

// setTimes computes the arrival or the departure.
func (out *routeOut) setTimes(in routeIn, length time.Duration, now time.Time) (said string, err error) {
	words := in.Depart + in.Arrive
	if strings.TrimSpace(words) == "" {
		return "", nil
	}
	at := now
	if !strings.EqualFold(words, "now") {
		m, err := dateparse.Parse(words, now)
		if err != nil {
			return "", tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
		}
		if at = m.Time.In(now.Location()); !m.HasClock {
			return "", tools.Errorf(tools.InvalidArguments, "the time of day is missing; give the day and the time")
		}
	}
	if in.Depart != "" {
		end := at.Add(length).Round(time.Minute)
		out.Depart, out.Arrive = &at, &end
		return " Arrival: " + dateparse.Format(end, now) + ".", nil
	}
	start := at.Add(-length).Truncate(time.Minute)
	out.Depart, out.Arrive = &start, &at
	said = " Leave: " + dateparse.Format(start, now) + " at the latest."
	if start.Before(now) {
		said += " That time has passed."
	}
	return said, nil
}
