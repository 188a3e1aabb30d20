// Package weather provides get_weather and Brief, the weather section of a briefing. Both query
// Open-Meteo (https://open-meteo.com/en/docs), a service that needs no API key. Open-Meteo receives
// only the place and this machine's address. Brief queries only the configured place.
package weather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

const (
	find     = "https://geocoding-api.open-meteo.com/v1/search"
	forecast = "https://api.open-meteo.com/v1/forecast"

	maxBody   = 1 << 20
	briefWait = 8 * time.Second
	maxDays   = 16 // forecast range of the service, in days
	usual     = 3
)

// Deps are the dependencies of the tool.
type Deps struct {
	// Network sends the requests; required.
	Network *safehttp.Client
	// Place is the owner's home: a town, or "latitude,longitude". It is "" if not configured.
	Place string
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool { return []tools.Tool{d.getWeather()} }

type weatherIn struct {
	Location string `json:"location,omitempty" jsonschema:"a town; default the user's home town"`
	Days     int    `json:"days,omitempty" jsonschema:"1 to 16, default 3"`
}

// day is the weather of one day. Unknown values are nil.
type day struct {
	Date string   `json:"date"`
	Code *int     `json:"code"` // WMO 4677
	Max  *float64 `json:"max_celsius"`
	Min  *float64 `json:"min_celsius"`
	Rain *float64 `json:"rain_percent"`
	Wind *float64 `json:"wind_kmh"`
}

// weatherOut is the Data of get_weather.
type weatherOut struct {
	Place string `json:"place"`
	Days  []day  `json:"days"`
}

func (d Deps) getWeather() tools.Tool {
	return tools.New(tools.Def[weatherIn]{
		Spec: tools.Spec{
			Name: "get_weather", Category: "weather", Effects: tools.Egress, Timeout: time.Minute,
			Description: "Get the weather forecast for a place for some days.",
			Keywords:    "weather forecast rain sun snow wind temperature degrees umbrella cold warm today tomorrow",
		},
		Summary: func(in weatherIn) string {
			return "Look up the weather in " + textnorm.Ellipsize(d.requestedPlace(in), 80)
		},
		Judge: func(_ context.Context, in weatherIn) tools.CallAssessment {
			if strings.TrimSpace(in.Location) == "" { // the service receives the place in the configuration, not text from the model
				return tools.CallAssessment{Effects: tools.Read}
			}
			return tools.CallAssessment{
				Effects: tools.Egress, URLs: []string{geocodingURL(in.Location)}, Get: true, Why: fmt.Sprintf("it sends the name %q to the weather service Open-Meteo", textnorm.Ellipsize(in.Location, 80)), Pattern: "host:geocoding-api.open-meteo.com",
			}
		},
		Run: func(ctx context.Context, c tools.Call, in weatherIn) (tools.Result, error) {
			place := d.requestedPlace(in)
			switch {
			case place == "":
				return tools.Result{}, &tools.Error{Source: provenance.Tool, Code: tools.InvalidArguments, Message: "weather forecast: location is empty", Remedy: "name a town"}
			case in.Days < 0 || in.Days > maxDays:
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "days must be 1 to %d", maxDays)
			case in.Days == 0:
				in.Days = usual
			}
			out, err := d.fetchForecast(ctx, place, in.Days)
			if err != nil {
				return tools.Result{}, err
			}
			var b strings.Builder
			fmt.Fprintf(&b, "The weather in %s:", out.Place)
			for _, x := range out.Days {
				if at, err := time.ParseInLocation(time.DateOnly, x.Date, c.Now.Location()); err == nil {
					fmt.Fprintf(&b, "\n- %s: %s", dateparse.FormatDay(at, c.Now), x.describeDay())
				}
			}
			return tools.Result{
				Text: b.String(), Data: out, Source: provenance.Outside, Origins: []provenance.Origin{{Kind: "web", Label: forecast, Via: "get_weather"}},
			}, nil
		},
	})
}

func (d Deps) requestedPlace(in weatherIn) string {
	if s := strings.TrimSpace(in.Location); s != "" {
		return s
	}
	return strings.TrimSpace(d.Place)
}

// Brief is the weather section of a briefing, for the configured place.
type Brief struct{ Deps }

// BriefTitle implements tools.BriefSource.
func (Brief) BriefTitle() string { return "Weather" }

// Brief implements tools.BriefSource.
func (b Brief) Brief(ctx context.Context, from, _ time.Time) ([]tools.BriefItem, error) {
	place := strings.TrimSpace(b.Place)
	ahead := time.Until(from)
	if place == "" || ahead < -48*time.Hour || ahead > (maxDays-1)*24*time.Hour {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, briefWait)
	defer cancel()
	out, err := b.fetchForecast(ctx, place, maxDays)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("open-meteo.com: no response within %s", briefWait)
	}
	if err != nil {
		return nil, err
	}
	for _, x := range out.Days { // the result contains only numbers and the configured name of the place
		if x.Date == from.Format(time.DateOnly) {
			return []tools.BriefItem{{Text: textnorm.Ellipsize(place, 60) + ": " + x.describeDay(), Source: provenance.Tool}}, nil
		}
	}
	return nil, nil
}

// Outlook is the weather at a place over several days. Unknown temperatures are nil.
type Outlook struct {
	Place      string
	Min, Max   *float64 // degrees Celsius
	Rain, Snow bool
}

// likelyRain is the chance of rain, in percent, from which an outlook counts as rainy.
const likelyRain = 50

// Outlook returns the weather for days days starting today.
func (d Deps) Outlook(ctx context.Context, place string, days int) (o Outlook, err error) {
	f, err := d.fetchForecast(ctx, place, days)
	if err != nil {
		return o, err
	}
	o.Place = f.Place
	for _, x := range f.Days {
		if x.Min != nil && (o.Min == nil || *x.Min < *o.Min) {
			o.Min = x.Min
		}
		if x.Max != nil && (o.Max == nil || *x.Max > *o.Max) {
			o.Max = x.Max
		}
		snows := x.Code != nil && (*x.Code >= 71 && *x.Code <= 77 || *x.Code == 85 || *x.Code == 86) // WMO 4677
		o.Snow = o.Snow || snows
		o.Rain = o.Rain || !snows && x.Rain != nil && *x.Rain >= likelyRain
	}
	return o, nil
}

// Point reads "54.69,25.28".
func Point(s string) (lat, lon float64, ok bool) {
	a, b, found := strings.Cut(s, ",")
	lat, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
	lon, lerr := strconv.ParseFloat(strings.TrimSpace(b), 64)
	return lat, lon, found && err == nil && lerr == nil && math.Abs(lat) <= 90 && math.Abs(lon) <= 180
}

func geocodingURL(place string) string {
	return find + "?" + url.Values{"name": {textnorm.Ellipsize(place, 100)}, "count": {"1"}, "language": {"en"}, "format": {"json"}}.Encode()
}

// fetchForecast returns the forecast for days days starting today, in the time zone of the place.
func (d Deps) fetchForecast(ctx context.Context, place string, days int) (out weatherOut, err error) {
	lat, lon, ok := Point(place)
	out.Place = place
	if !ok {
		var found struct {
			Results []struct {
				Name, Country       string
				Latitude, Longitude float64
			}
		}
		if err := d.fetchJSON(ctx, geocodingURL(place), &found); err != nil {
			return out, err
		}
		if len(found.Results) == 0 {
			return out, tools.Errorf(tools.NotFound, "no place called %q was found", tools.Clean(textnorm.Ellipsize(place, 80)))
		}
		r := found.Results[0]
		lat, lon, out.Place = r.Latitude, r.Longitude, strings.TrimSuffix(pim.SanitizeLine(r.Name, 80)+", "+pim.SanitizeLine(r.Country, 60), ", ")
	}
	var f struct {
		Daily struct {
			Time []string   `json:"time"`
			Code []*int     `json:"weather_code"`
			Max  []*float64 `json:"temperature_2m_max"`
			Min  []*float64 `json:"temperature_2m_min"`
			Rain []*float64 `json:"precipitation_probability_max"`
			Wind []*float64 `json:"wind_speed_10m_max"`
		} `json:"daily"`
	}
	q := url.Values{
		"latitude": {strconv.FormatFloat(lat, 'f', 4, 64)}, "longitude": {strconv.FormatFloat(lon, 'f', 4, 64)}, "timezone": {"auto"},
		"forecast_days": {strconv.Itoa(days)}, "daily": {"weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max,wind_speed_10m_max"},
	}
	if err := d.fetchJSON(ctx, forecast+"?"+q.Encode(), &f); err != nil {
		return out, err
	}
	for i, date := range f.Daily.Time[:min(len(f.Daily.Time), maxDays)] {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return out, errUnread()
		}
		out.Days = append(out.Days, day{date, elementAt(f.Daily.Code, i), elementAt(f.Daily.Max, i), elementAt(f.Daily.Min, i), elementAt(f.Daily.Rain, i), elementAt(f.Daily.Wind, i)})
	}
	if len(out.Days) == 0 {
		return out, errUnread()
	}
	return out, nil
}

func errUnread() error { return errors.New("open-meteo.com: invalid response") }

func elementAt[T any](list []*T, i int) *T {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (d Deps) fetchJSON(ctx context.Context, address string, into any) error {
	r, err := d.Network.Fetch(ctx, safehttp.Request{URL: address, MaxBody: maxBody, Header: http.Header{"Accept": {"application/json"}}})
	if err != nil {
		if e, is := errors.AsType[*safehttp.Error](err); is {
			return &tools.Error{Code: tools.Failed, Message: e.Message, Remedy: e.Remedy, Err: err, Source: provenance.Outside}
		}
		return err
	}
	if r.Status != http.StatusOK {
		return fmt.Errorf("open-meteo.com: HTTP status %d %s", r.Status, http.StatusText(r.Status))
	}
	if json.Unmarshal(r.Body, into) != nil {
		return errUnread()
	}
	return nil
}

// describeDay formats a day: "light rain, 3 to 7 °C, rain 80%, wind up to 30 km/h".
func (x day) describeDay() string {
	var parts []string
	if x.Code != nil {
		parts = append(parts, describeSky(*x.Code))
	}
	if x.Min != nil && x.Max != nil {
		parts = append(parts, fmt.Sprintf("%.0f to %.0f °C", *x.Min, *x.Max))
	}
	if x.Rain != nil {
		parts = append(parts, fmt.Sprintf("rain %.0f%%", *x.Rain))
	}
	if x.Wind != nil {
		parts = append(parts, fmt.Sprintf("wind up to %.0f km/h", *x.Wind))
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, ", ")
}

// describeSky describes a weather code of WMO table 4677, in the variant that the service uses.
func describeSky(code int) string {
	for _, s := range []struct {
		upTo int
		say  string
	}{
		{0, "clear"},
		{1, "mostly clear"},
		{2, "partly cloudy"},
		{3, "overcast"},
		{48, "fog"},
		{57, "drizzle"},
		{61, "light rain"},
		{63, "rain"},
		{65, "heavy rain"},
		{67, "freezing rain"},
		{71, "light snow"},
		{73, "snow"},
		{77, "heavy snow"},
		{82, "showers"},
		{86, "snow showers"},
		{99, "thunderstorms"},
	} {
		if code <= s.upTo && code >= 0 {
			return s.say
		}
	}
	return "unsettled"
}
