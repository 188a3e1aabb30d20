// Package places finds the time zone and the coordinates of towns, countries and zones without a
// network connection. It knows the towns that name an IANA zone (zone.tab of tzdata, which is in the
// public domain), some other large cities, and the countries. It does not guess: an unknown place is
// an error, and so is a country with several zones.
package places

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/platform/host/system"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// ErrUnknown means that a place is not in the tables.
var ErrUnknown = errors.New("unknown place")

//go:embed zones.txt
var zoneTable string // zone, country code, latitude and longitude

//go:embed towns.txt
var townTable string // names = zone, latitude and longitude

//go:embed countries.txt
var countryTable string // country code and name

// Place is a place with its zone.
type Place struct {
	Name string // as it is usually written; for a country, its only zone's town
	Zone *time.Location
	// Lat and Lon are degrees, north and east. They are valid if Located is set.
	Lat, Lon float64
	Located  bool
}

// entry is a row of the tables.
type entry struct {
	name, zone, country string
	lat, lon            float64
}

// tables are the parsed tables.
type tables struct {
	byName    map[string]entry
	byCountry map[string][]entry // by country code
	countries map[string]string  // folded name -> code
}

var parsedTables = sync.OnceValue(parseTables)

func parseTables() tables {
	t := tables{map[string]entry{}, map[string][]entry{}, map[string]string{}}
	for line := range strings.Lines(zoneTable) {
		f := strings.Fields(line)
		e := entry{name: strings.ReplaceAll(f[0][strings.LastIndexByte(f[0], '/')+1:], "_", " "), zone: f[0], country: f[1]}
		e.lat, e.lon = parseDegrees(f[2]), parseDegrees(f[3])
		t.byName[foldPlace(e.name)], t.byName[strings.ToLower(e.zone)] = e, e
		t.byCountry[e.country] = append(t.byCountry[e.country], e)
	}
	for line := range strings.Lines(townTable) {
		names, rest, _ := strings.Cut(strings.TrimSpace(line), " = ")
		f := strings.Fields(rest)
		for name := range strings.SplitSeq(names, ", ") {
			first, _, _ := strings.Cut(names, ",")
			t.byName[name] = entry{name: titleWords(first), zone: f[0], lat: parseDegrees(f[1]), lon: parseDegrees(f[2])}
		}
	}
	for line := range strings.Lines(countryTable) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, more, _ := strings.Cut(name, " (")
		t.countries[foldPlace(name)] = code
		if more = strings.TrimSuffix(more, ")"); more != "" {
			t.countries[foldPlace(more)] = code
		}
	}
	for name, code := range map[string]string{"usa": "US", "america": "US", "england": "GB", "scotland": "GB", "great britain": "GB", "holland": "NL", "the netherlands": "NL", "uae": "AE", "czechia": "CZ"} {
		t.countries[name] = code
	}
	return t
}

// parseDegrees parses a number of the tables, which the tests check.
func parseDegrees(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

func titleWords(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// foldPlace normalizes a name: "São Paulo" and "Sao_Paulo" are equal.
func foldPlace(s string) string { return strings.Join(textnorm.FoldedWords(s), " ") }

var fixedOffset = lazyregexp.New(`(?i)^(?:utc|gmt)\s*(?:([+-])\s*(\d{1,2})(?::?(\d{2}))?)?$`)

// Find finds a place: a town or country, an IANA zone such as "Europe/Vilnius", or an offset such as
// "UTC+3". A country or region after a comma may follow a town; it must agree with the town.
func Find(name string) (Place, error) {
	name = strings.TrimSpace(name)
	if m := fixedOffset.FindStringSubmatch(name); m != nil {
		return fixedPlace(m)
	}
	t := parsedTables()
	town, region, hasRegion := strings.Cut(name, ",")
	e, ok := t.byName[foldPlace(town)]
	if !ok {
		e, ok = t.byName[strings.ToLower(name)]
	}
	if code, isCountry := t.countries[foldPlace(region)]; ok && hasRegion && isCountry && e.country != "" && e.country != code {
		return Place{}, fmt.Errorf("%w: %q is not the %s that Hob knows", ErrUnknown, textnorm.Ellipsize(name, 60), e.name)
	}
	if ok {
		return e.toPlace()
	}
	if code, isCountry := t.countries[foldPlace(name)]; isCountry {
		return t.ofCountry(code, name)
	}
	if strings.Contains(name, "/") { // an older name of a zone
		if loc, err := system.Zone(name); err == nil {
			return Place{Name: name, Zone: loc}, nil
		}
	}
	return Place{}, fmt.Errorf("%w: %q; name a large city, a country, or a time zone such as Europe/Vilnius", ErrUnknown, textnorm.Ellipsize(name, 60))
}

// ofCountry returns the place of a country whose zones have the same time now and in half a year.
func (t tables) ofCountry(code, name string) (Place, error) {
	list := t.byCountry[code]
	offsets := map[[2]int]bool{}
	var names []string
	for _, e := range list {
		p, err := e.toPlace()
		if err != nil {
			return Place{}, err
		}
		now := time.Now()
		_, a := now.In(p.Zone).Zone()
		_, b := now.AddDate(0, 6, 0).In(p.Zone).Zone()
		if k := [2]int{a, b}; !offsets[k] {
			offsets[k] = true
			names = append(names, e.name)
		}
	}
	if len(offsets) != 1 {
		sorting.ByFunc(names, strings.Compare)
		return Place{}, fmt.Errorf("%s has several time zones; name a city, such as %s", textnorm.Ellipsize(name, 60), strings.Join(names[:min(len(names), 6)], ", "))
	}
	return list[0].toPlace()
}

func (e entry) toPlace() (Place, error) {
	loc, err := system.Zone(e.zone)
	return Place{Name: e.name, Zone: loc, Lat: e.lat, Lon: e.lon, Located: true}, err
}

func fixedPlace(m []string) (Place, error) {
	if m[1] == "" {
		return Place{Name: "UTC", Zone: time.UTC}, nil
	}
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi("0" + m[3])
	if hours > 14 || minutes > 59 {
		return Place{}, fmt.Errorf("%w: no place is %d hours from UTC", ErrUnknown, hours)
	}
	seconds := (hours*60 + minutes) * 60
	if m[1] == "-" {
		seconds = -seconds
	}
	name := fmt.Sprintf("UTC%s%d", m[1], hours)
	if minutes > 0 {
		name += fmt.Sprintf(":%02d", minutes)
	}
	return Place{Name: name, Zone: time.FixedZone(name, seconds)}, nil
}

// Zone returns the zone of a place. See Find.
func Zone(name string) (*time.Location, error) {
	p, err := Find(name)
	return p.Zone, err
}
