package travel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/places"
	"hob/tools"
)

const maxClocks = 10

type clockIn struct {
	Places []string `json:"places" jsonschema:"cities, countries or time zones"`
	Time   string   `json:"time,omitempty" jsonschema:"the time to convert; default now"`
	From   string   `json:"from,omitempty" jsonschema:"city or zone in which time is given; default the user's zone"`
}

// clockRow is the time at a place.
type clockRow struct {
	Place  string    `json:"place"`
	Zone   string    `json:"zone"`
	Time   time.Time `json:"time"`
	Offset int       `json:"offset_minutes"` // from the zone in which the time was given
}

func (d Deps) worldClock() tools.Tool {
	return tools.New(tools.Def[clockIn]{
		Spec: tools.Spec{
			Name: "world_clock", Category: "travel", Effects: tools.Read,
			Description: "Tell the time in other places, or convert a time between time zones.",
			Keywords:    "time zone world clock convert what time is it in difference hours ahead behind utc",
		},
		Summary: func(clockIn) string { return "Convert a time between time zones" },
		Run: func(_ context.Context, c tools.Call, in clockIn) (tools.Result, error) {
			if len(in.Places) == 0 || len(in.Places) > maxClocks {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "name 1 to %d places", maxClocks)
			}
			here, name := c.Now.Location(), "here"
			if strings.TrimSpace(in.From) != "" {
				p, err := findPlace(in.From)
				if err != nil {
					return tools.Result{}, err
				}
				here, name = p.Zone, "in "+p.Name
			}
			at := c.Now.In(here)
			if strings.TrimSpace(in.Time) != "" {
				m, err := dateparse.Parse(in.Time, c.Now.In(here))
				if err != nil {
					return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
				}
				if at = m.Time.In(here); !m.HasClock {
					return tools.Result{}, tools.Errorf(tools.InvalidArguments, "the time of day is missing, as in 15:00")
				}
			}
			text := fmt.Sprintf("%s %s (%s) is:", at.Format("15:04"), name, at.Format("Mon 2 Jan, MST"))
			rows := []clockRow{}
			for _, s := range in.Places {
				p, err := findPlace(s)
				if err != nil {
					return tools.Result{}, err
				}
				there := at.In(p.Zone)
				_, a := at.Zone()
				_, b := there.Zone()
				rows = append(rows, clockRow{p.Name, p.Zone.String(), there, (b - a) / 60})
				text += fmt.Sprintf("\n- %s in %s (%s, %s)", there.Format("15:04"), p.Name, there.Format("Mon 2 Jan, MST"), describeOffset(b-a))
			}
			return tools.Result{Text: text, Data: map[string]any{"time": at, "places": rows}, Source: provenance.Tool}, nil
		},
	})
}

func findPlace(name string) (places.Place, error) {
	p, err := places.Find(name)
	if err != nil {
		return p, tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	return p, nil
}

// describeOffset formats a difference between zones in seconds.
func describeOffset(seconds int) string {
	switch d := time.Duration(seconds) * time.Second; {
	case d > 0:
		return spellDuration(d) + " ahead"
	case d < 0:
		return spellDuration(-d) + " behind"
	}
	return "the same time"
}

type sunIn struct {
	Place string `json:"place,omitempty" jsonschema:"a large city, or latitude,longitude; default the user's home town"`
	Date  string `json:"date,omitempty" jsonschema:"the day; default today"`
}

// sunOut is the Data of sun_times. Times of events that do not happen are omitted.
type sunOut struct {
	Place   string     `json:"place"`
	Zone    string     `json:"zone"`
	Date    string     `json:"date"`
	Dawn    *time.Time `json:"dawn,omitempty"`
	Sunrise *time.Time `json:"sunrise,omitempty"`
	Noon    time.Time  `json:"solar_noon"`
	Sunset  *time.Time `json:"sunset,omitempty"`
	Dusk    *time.Time `json:"dusk,omitempty"`
	Minutes int        `json:"day_length_minutes"`
}

func (d Deps) sunTimes() tools.Tool {
	return tools.New(tools.Def[sunIn]{
		Spec: tools.Spec{
			Name: "sun_times", Category: "travel", Effects: tools.Read,
			Description: "Compute sunrise, sunset, twilight and the length of the day at a place.",
			Keywords:    "sunrise sunset sun dawn dusk daylight twilight golden hour day length dark light",
		},
		Summary: func(in sunIn) string { return "Compute the times of the sun" },
		Run: func(_ context.Context, c tools.Call, in sunIn) (tools.Result, error) {
			p, err := d.placeOf(in.Place, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			day := c.Now.In(p.Zone)
			if strings.TrimSpace(in.Date) != "" {
				if day, err = parseDay(in.Date, day); err != nil {
					return tools.Result{}, err
				}
			}
			return sunResult(p, day), nil
		},
	})
}

// placeOf finds a place with coordinates.
func (d Deps) placeOf(name string, now time.Time) (places.Place, error) {
	if name = strings.TrimSpace(name); name == "" {
		name = strings.TrimSpace(d.Place)
	}
	if name == "" {
		return places.Place{}, &tools.Error{Source: provenance.Tool, Code: tools.InvalidArguments, Message: "the place is empty", Remedy: "name a city, or set plan.place"}
	}
	if lat, lon, ok := parsePoint(name); ok {
		return places.Place{Name: name, Zone: now.Location(), Lat: lat, Lon: lon, Located: true}, nil
	}
	p, err := findPlace(name)
	if err == nil && !p.Located {
		err = tools.Errorf(tools.InvalidArguments, "%q has no position; name a city, or give latitude,longitude", argumentText(name))
	}
	return p, err
}

// parseDay parses a day in words.
func parseDay(words string, now time.Time) (time.Time, error) {
	m, err := dateparse.Parse(words, now)
	if err != nil {
		return now, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return m.Time.In(now.Location()), nil
}

func sunResult(p places.Place, day time.Time) tools.Result {
	s := sunOn(day, p.Lat, p.Lon)
	out := sunOut{Place: p.Name, Zone: p.Zone.String(), Date: day.Format(time.DateOnly), Noon: s.noon}
	for to, t := range map[**time.Time]time.Time{&out.Dawn: s.dawn, &out.Sunrise: s.rise, &out.Sunset: s.set, &out.Dusk: s.dusk} {
		if !t.IsZero() {
			*to = &t
		}
	}
	clock := func(t time.Time) string { return t.Round(time.Minute).Format("15:04") }
	text := fmt.Sprintf("%s on %s: ", p.Name, day.Format("Mon 2 Jan 2006"))
	switch {
	case out.Sunrise == nil && s.up:
		text += "the sun does not set."
		out.Minutes = 24 * 60
	case out.Sunrise == nil:
		text += "the sun does not rise."
		if out.Dawn != nil {
			text += fmt.Sprintf(" Twilight from %s to %s.", clock(s.dawn), clock(s.dusk))
		}
	default:
		length := s.set.Sub(s.rise)
		out.Minutes = int(length.Round(time.Minute).Minutes())
		text += fmt.Sprintf("sunrise %s, sunset %s, %s of daylight.", clock(s.rise), clock(s.set), spellDuration(length))
		if out.Dawn != nil {
			text += fmt.Sprintf(" Twilight from %s and until %s.", clock(s.dawn), clock(s.dusk))
		}
	}
	text += fmt.Sprintf(" Solar noon %s (%s).", clock(s.noon), s.noon.Format("MST"))
	return tools.Result{Text: text, Data: out, Source: provenance.Tool}
}
