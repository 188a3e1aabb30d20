package travel

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/lazyregexp"
	"hob/tools"
)

// The formats of services for flights.
const (
	AviationStack = "aviationstack" // https://aviationstack.com/documentation
	AeroAPI       = "aeroapi"       // https://www.flightaware.com/aeroapi/portal/documentation
)

// AviationStackURL is the default address of the service for flights.
const AviationStackURL = "https://api.aviationstack.com"

type flightIn struct {
	Flight string `json:"flight_number" jsonschema:"airline code and number, such as BT342"`
	Date   string `json:"date,omitempty" jsonschema:"day of the departure; default the flight closest to now"`
}

// flightEnd is the departure or the arrival. Unknown values are "".
type flightEnd struct {
	Airport   string `json:"airport,omitempty"`
	Code      string `json:"code,omitempty"` // IATA
	Terminal  string `json:"terminal,omitempty"`
	Gate      string `json:"gate,omitempty"`
	Scheduled string `json:"scheduled,omitempty"` // RFC 3339, as the service states it
	Estimated string `json:"estimated,omitempty"`
	Actual    string `json:"actual,omitempty"`
	Delay     *int   `json:"delay_minutes,omitempty"`
	zone      string
}

// flightOut is the Data of flight_status.
type flightOut struct {
	Flight    string    `json:"flight"`
	Airline   string    `json:"airline,omitempty"`
	Date      string    `json:"date,omitempty"`
	Status    string    `json:"status"` // as the service states it
	Departure flightEnd `json:"departure"`
	Arrival   flightEnd `json:"arrival"`
	Others    int       `json:"other_flights,omitempty"` // flights with this number on other days
}

func (d Deps) flightStatus() tools.Tool {
	return tools.New(tools.Def[flightIn]{
		Spec: tools.Spec{
			Name: "flight_status", Category: "travel", Effects: tools.Egress, Timeout: time.Minute,
			Description: "Look up whether a flight is on time: status, delay, terminal and gate.",
			Keywords:    "flight plane airline airport delay delayed departure arrival gate terminal landed cancelled on time",
		},
		Summary: func(in flightIn) string { return "Look up flight " + cleanLine(in.Flight, 20) },
		Judge: func(_ context.Context, in flightIn) tools.CallAssessment {
			code, err := parseFlight(in.Flight)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			address, _ := d.flightURL(code, "")
			return tools.CallAssessment{Effects: tools.Egress, URLs: []string{address}, Get: true, Why: "contacts " + hostsOf([]string{address})}
		},
		Run: d.runFlight,
	})
}

var validFlight = lazyregexp.New(`^([A-Z][A-Z0-9]|[0-9][A-Z]|[A-Z]{3})([0-9]{1,4}[A-Z]?)$`)

// parseFlight normalizes a flight number: "bt 342" becomes "BT342".
func parseFlight(s string) (string, error) {
	code := strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(s)))
	if len(code) > 8 || !validFlight.MatchString(code) {
		return "", tools.Errorf(tools.InvalidArguments, "%q is not a flight number; use the airline code and the number, such as BT342", argumentText(s))
	}
	return code, nil
}

// flightURL returns the address of a flight, and the header for the key.
func (d Deps) flightURL(code, key string) (string, http.Header) {
	base := strings.TrimSuffix(d.FlightsURL, "/")
	if d.FlightsAPI == AeroAPI {
		h := http.Header{}
		if key != "" {
			h.Set("x-apikey", key)
		}
		return base + "/flights/" + url.PathEscape(code), h
	}
	q := url.Values{"flight_iata": {code}}
	if len(code) > 2 && code[2] >= 'A' && code[2] <= 'Z' && code[0] >= 'A' && code[1] >= 'A' {
		q = url.Values{"flight_icao": {code}}
	}
	if key != "" {
		q.Set("access_key", key)
	}
	return base + "/v1/flights?" + q.Encode(), nil
}

func (d Deps) runFlight(ctx context.Context, c tools.Call, in flightIn) (tools.Result, error) {
	code, err := parseFlight(in.Flight)
	if err != nil {
		return tools.Result{}, err
	}
	day := ""
	if strings.TrimSpace(in.Date) != "" {
		t, err := parseDay(in.Date, c.Now)
		if err != nil {
			return tools.Result{}, err
		}
		day = t.Format(time.DateOnly)
	}
	key, err := d.flightKey(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	list, err := d.fetchFlights(ctx, code, key)
	if err != nil {
		return tools.Result{}, err
	}
	out, ok := chooseFlight(list, day, c.Now)
	if !ok {
		when := "in the coming days"
		if day != "" {
			when = "on " + day
		}
		return tools.Result{}, tools.Errorf(tools.NotFound, "the service has no flight %s %s; check the number and the date", tools.Clean(code), tools.Clean(when))
	}
	out.Flight = code
	return tools.Result{Text: out.describeFlight(), Data: out, Source: provenance.Outside, Origins: webOrigin("flight_status", d.FlightsURL)}, nil
}

func (d Deps) flightKey(ctx context.Context) (key string, err error) {
	if d.FlightsKey != "" && d.Secret != nil {
		if key, err = d.Secret(ctx, d.FlightsKey); err != nil {
			return "", fmt.Errorf("travel.flights_key: %w", err)
		}
	}
	if key == "" && d.FlightsURL == AviationStackURL {
		return "", &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "flight status: no key for aviationstack.com is set", Remedy: "get one there, then run: hob config set travel.flights_key KEY"}
	}
	return key, nil
}

func (d Deps) fetchFlights(ctx context.Context, code, key string) ([]flightOut, error) {
	address, header := d.flightURL(code, key)
	hasReason := func(status int) bool { return status >= 400 && status < 500 }
	if d.FlightsAPI == AeroAPI {
		var r aeroResponse
		status, err := d.fetchJSON(ctx, "flight status", d.FlightsURL, address, header, hasReason, &r)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, refusedFlight(status, cmp.Or(r.Detail, r.Title))
		}
		return r.toFlights(code), nil
	}
	var r stackResponse
	status, err := d.fetchJSON(ctx, "flight status", d.FlightsURL, address, header, hasReason, &r)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK || r.Error.Code != "" {
		return nil, refusedFlight(status, cmp.Or(r.Error.Message, r.Error.Code))
	}
	if r.Data == nil {
		return nil, tools.Errorf(tools.Failed, "flight status: the response has no flights; check travel.flights_url and travel.flights_api")
	}
	return r.toFlights(code), nil
}

// refusedFlight returns the error of a service that describes why it refused a request.
func refusedFlight(status int, why string) error {
	err := tools.Errorf(tools.Failed, "flight status: the service refused the request (HTTP status %d): %s; check travel.flights_key", status, cmp.Or(cleanLine(why, 200), "without a reason"))
	return tools.Quoting(err, provenance.Outside)
}

// stackResponse is a response of aviationstack.
type stackResponse struct {
	Error struct{ Code, Message string }
	Data  []struct {
		Date      string `json:"flight_date"`
		Status    string `json:"flight_status"`
		Departure stackEnd
		Arrival   stackEnd
		Airline   struct{ Name string }
		Flight    struct{ IATA, ICAO string }
	}
}

type stackEnd struct {
	Airport, IATA, Timezone      string
	Terminal, Gate               *string
	Delay                        *int
	Scheduled, Estimated, Actual *string
}

func (e stackEnd) toEnd() flightEnd {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return cleanLine(*s, 40)
	}
	return flightEnd{
		cleanLine(e.Airport, 80), cleanLine(e.IATA, 4), text(e.Terminal), text(e.Gate), text(e.Scheduled), text(e.Estimated), text(e.Actual), e.Delay, "",
	}
}

func (r stackResponse) toFlights(code string) (out []flightOut) {
	for _, f := range r.Data {
		if strings.EqualFold(f.Flight.IATA, code) || strings.EqualFold(f.Flight.ICAO, code) {
			out = append(out, flightOut{Airline: cleanLine(f.Airline.Name, 60), Date: cleanLine(f.Date, 10), Status: cleanLine(f.Status, 40), Departure: f.Departure.toEnd(), Arrival: f.Arrival.toEnd()})
		}
	}
	return out
}

// aeroResponse is a response of AeroAPI.
type aeroResponse struct {
	Title, Detail string
	Flights       []struct {
		Ident          string
		IdentIATA      string `json:"ident_iata"`
		IdentICAO      string `json:"ident_icao"`
		Operator       string
		Status         string
		Cancelled      bool
		DepartureDelay *int `json:"departure_delay"` // seconds
		ArrivalDelay   *int `json:"arrival_delay"`
		Origin         *aeroAirport
		Destination    *aeroAirport
		GateOrigin     string `json:"gate_origin"`
		GateTo         string `json:"gate_destination"`
		TerminalFrom   string `json:"terminal_origin"`
		TerminalTo     string `json:"terminal_destination"`
		ScheduledOut   string `json:"scheduled_out"`
		EstimatedOut   string `json:"estimated_out"`
		ActualOut      string `json:"actual_out"`
		ScheduledIn    string `json:"scheduled_in"`
		EstimatedIn    string `json:"estimated_in"`
		ActualIn       string `json:"actual_in"`
	}
}

type aeroAirport struct {
	Name     string
	CodeIATA string `json:"code_iata"`
	Timezone string
}

func (r aeroResponse) toFlights(code string) (out []flightOut) {
	for _, f := range r.Flights {
		if !strings.EqualFold(f.IdentIATA, code) && !strings.EqualFold(f.IdentICAO, code) && !strings.EqualFold(f.Ident, code) {
			continue
		}
		o := flightOut{
			Airline: cleanLine(f.Operator, 60), Status: cleanLine(f.Status, 60),
			Departure: flightEnd{Gate: cleanLine(f.GateOrigin, 10), Terminal: cleanLine(f.TerminalFrom, 10), Scheduled: cleanLine(f.ScheduledOut, 40), Estimated: cleanLine(f.EstimatedOut, 40), Actual: cleanLine(f.ActualOut, 40), Delay: inMinutes(f.DepartureDelay)},
			Arrival:   flightEnd{Gate: cleanLine(f.GateTo, 10), Terminal: cleanLine(f.TerminalTo, 10), Scheduled: cleanLine(f.ScheduledIn, 40), Estimated: cleanLine(f.EstimatedIn, 40), Actual: cleanLine(f.ActualIn, 40), Delay: inMinutes(f.ArrivalDelay)},
		}
		if f.Cancelled {
			o.Status = "canceled"
		}
		for end, at := range map[*flightEnd]*aeroAirport{&o.Departure: f.Origin, &o.Arrival: f.Destination} {
			if at != nil {
				end.Airport, end.Code, end.zone = cleanLine(at.Name, 80), cleanLine(at.CodeIATA, 4), cleanLine(at.Timezone, 40)
			}
		}
		if at, err := time.Parse(time.RFC3339, o.Departure.Scheduled); err == nil {
			o.Date = at.In(o.Departure.airportZone(at)).Format(time.DateOnly)
		}
		out = append(out, o)
	}
	return out
}

func inMinutes(seconds *int) *int {
	if seconds == nil {
		return nil
	}
	m := *seconds / 60
	return &m
}

// airportZone returns the zone of the airport, or that of the time if it is unknown.
func (e flightEnd) airportZone(at time.Time) *time.Location {
	if loc, err := time.LoadLocation(e.zone); err == nil && e.zone != "" {
		return loc
	}
	return at.Location()
}

// chooseFlight returns the flight on a day, or the one whose departure is closest to now.
func chooseFlight(list []flightOut, day string, now time.Time) (best flightOut, ok bool) {
	var distance time.Duration
	for _, f := range list {
		if day != "" && f.Date != day {
			continue
		}
		at, err := time.Parse(time.RFC3339, f.Departure.Scheduled)
		if err != nil {
			at, err = time.Parse(time.DateOnly, f.Date)
		}
		far := at.Sub(now).Abs()
		if err != nil {
			far = 1<<62 - 1
		}
		if !ok || far < distance {
			best, distance, ok = f, far, true
		}
	}
	best.Others = max(0, len(list)-1)
	return best, ok
}

// describeFlight formats the result. It states only what the service returned.
func (f flightOut) describeFlight() string {
	head := f.Flight
	if f.Airline != "" {
		head += " (" + f.Airline + ")"
	}
	if f.Date != "" {
		head += " on " + f.Date
	}
	text := head + ": " + cmp.Or(f.Status, "status unknown")
	if d := f.Departure.Delay; d != nil && *d > 0 {
		text += fmt.Sprintf(", departure delayed by %d min", *d)
	}
	text += ".\n- Departure: " + f.Departure.describeEnd() + "\n- Arrival: " + f.Arrival.describeEnd()
	if f.Others > 0 {
		text += fmt.Sprintf("\nThe service also lists %d other flights with this number; give the date to select one.", f.Others)
	}
	return text + "\nTimes are as the service states them."
}

func (e flightEnd) describeEnd() string {
	place := e.Airport
	if e.Code != "" {
		place = strings.TrimSpace(place + " (" + e.Code + ")")
	}
	parts := []string{cmp.Or(place, "airport unknown")}
	for _, x := range []struct{ label, value string }{{"terminal", e.Terminal}, {"gate", e.Gate}} {
		if x.value != "" {
			parts = append(parts, x.label+" "+x.value)
		}
	}
	for _, x := range []struct{ label, value string }{{"scheduled", e.Scheduled}, {"estimated", e.Estimated}, {"actual", e.Actual}} {
		if at, err := time.Parse(time.RFC3339, x.value); err == nil {
			parts = append(parts, x.label+" "+at.In(e.airportZone(at)).Format("Mon 2 Jan 15:04"))
		}
	}
	if e.Delay != nil && *e.Delay > 0 {
		parts = append(parts, fmt.Sprintf("%d min late", *e.Delay))
	}
	return strings.Join(parts, ", ")
}
