package travel

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

//go:embed packing.txt
var packingRules string

// Limits of a packing list.
const (
	maxTrip     = 365 // days
	maxItems    = 30  // items that a call adds or leaves out
	maxItem     = 80  // characters
	maxOldLists = 200
	longTrip    = 7 // days from which clothes are washed
)

type packIn struct {
	Destination string   `json:"destination" jsonschema:"where the trip goes"`
	Days        int      `json:"duration_days" jsonschema:"length of the trip in days"`
	Trip        string   `json:"trip_type,omitempty" jsonschema:"leisure, business, beach, camping, skiing ... (default leisure)"`
	Activities  []string `json:"activities,omitempty" jsonschema:"plans such as swimming, hiking, running, photography, baby, children"`
	Weather     string   `json:"weather,omitempty" jsonschema:"expected weather in words: rain, 5 to 12 °C"`
	Forecast    bool     `json:"use_forecast,omitempty" jsonschema:"look up the forecast at the destination, for a trip within the next 16 days"`
	Add         []string `json:"add,omitempty" jsonschema:"further items; later lists for such trips contain them too"`
	LeaveOut    []string `json:"leave_out,omitempty" jsonschema:"items that the user does not take; later lists omit them too"`
}

// packItem is an item of a list.
type packItem struct {
	Group string `json:"group"`
	Item  string `json:"item"`
	Count int    `json:"count,omitempty"` // 0 for a single thing
	// From names the earlier trip whose list had the item.
	From string `json:"from,omitempty"`
}

// packOut is the Data of packing_list.
type packOut struct {
	ID          string            `json:"id"`
	Destination string            `json:"destination"`
	Days        int               `json:"days"`
	Weather     string            `json:"weather,omitempty"`
	Items       []packItem        `json:"items"`
	LeftOut     []string          `json:"left_out,omitempty"`
	Provenance  provenance.Source `json:"provenance"`
}

// packRule is a row of packing.txt.
type packRule struct {
	group, item, count string
	when               []string
}

var packRules = sync.OnceValue(func() (out []packRule) {
	for line := range strings.Lines(packingRules) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) == 4 && !strings.HasPrefix(line, "#") {
			out = append(out, packRule{strings.TrimSpace(f[0]), strings.TrimSpace(f[2]), strings.TrimSpace(f[3]), strings.Fields(f[1])})
		}
	}
	return out
})

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "packing", Steps: []string{`
CREATE TABLE packing_lists (
	id TEXT PRIMARY KEY,
	destination TEXT NOT NULL,
	tags TEXT NOT NULL,     -- trip type and activities, separated by spaces
	added TEXT NOT NULL,    -- items that the user added, one per line
	left_out TEXT NOT NULL, -- items that the user does not take, one per line
	provenance TEXT NOT NULL,
	created_at INTEGER NOT NULL
) WITHOUT ROWID;`}}}
}

func (d Deps) packingList() tools.Tool {
	return tools.New(tools.Def[packIn]{
		Spec: tools.Spec{
			Name: "packing_list", Category: "travel", Effects: tools.Write | tools.Egress, Timeout: time.Minute,
			Description: "Make a packing list for a trip from its length, the weather, the plans and earlier lists.",
			Keywords:    "pack packing suitcase luggage bag trip journey travel holiday vacation what to take bring",
		},
		Summary: func(in packIn) string {
			return fmt.Sprintf("Make a packing list for %s (%d days)", textnorm.Ellipsize(in.Destination, 80), in.Days)
		},
		Judge: func(_ context.Context, in packIn) tools.CallAssessment {
			if !in.Forecast || d.Forecast == nil {
				return tools.CallAssessment{Effects: tools.Write}
			}
			return tools.CallAssessment{Effects: tools.Write | tools.Egress, Query: in.Destination, Why: "looks up the forecast for " + textnorm.Ellipsize(in.Destination, 80) + " at open-meteo.com"}
		},
		Run:  d.runPacking,
		Undo: d.undoPacking,
	})
}

func (d Deps) runPacking(ctx context.Context, c tools.Call, in packIn) (tools.Result, error) {
	in.Destination = strings.TrimSpace(in.Destination)
	switch {
	case in.Destination == "" || len(in.Destination) > 200:
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "destination must have 1 to 200 characters")
	case in.Days < 1 || in.Days > maxTrip:
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "duration_days must be 1 to %d", maxTrip)
	case len(in.Add) > maxItems || len(in.LeaveOut) > maxItems || len(in.Activities) > maxItems:
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "at most %d activities, added items and omitted items", maxItems)
	}
	weather, note := parseWeather(in.Weather), ""
	if in.Forecast {
		w, said, err := d.forecastFor(ctx, in)
		if err != nil {
			return tools.Result{}, err
		}
		weather, note = w, said
	}
	tags := tripTags(in)
	old, err := d.earlierLists(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	out := packOut{ID: shortid.New("l"), Destination: in.Destination, Days: in.Days, Weather: strings.Join(weather, ", "), Provenance: c.Provenance}
	if !out.Provenance.Tainted() {
		out.Provenance = provenance.Tool
	}
	source := out.Provenance
	if in.Forecast {
		source = provenance.Outside
	}
	out.Items, out.LeftOut = composeList(in, tags, weather, old)
	for _, l := range old {
		if l.isLike(in.Destination, tags) && l.provenance.Tainted() {
			source = provenance.Outside
		}
	}
	err = d.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO packing_lists (id, destination, tags, added, left_out, provenance, created_at) VALUES (?,?,?,?,?,?,?)`,
			out.ID, in.Destination, strings.Join(tags, " "), joinItems(in.Add), joinItems(in.LeaveOut), string(out.Provenance), store.Millis(c.Now))
		return err
	})
	if err != nil {
		return tools.Result{}, fmt.Errorf("packing list: store: %w", err)
	}
	return tools.Result{
		Text: out.describeList(note), Data: out, Source: source,
		Undo: tools.NewUndo("forget the packing list for "+textnorm.Ellipsize(in.Destination, 60), out.ID),
	}, nil
}

func (d Deps) undoPacking(ctx context.Context, data json.RawMessage) (string, error) {
	var id string
	if err := json.Unmarshal(data, &id); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	err := d.Store.Write(ctx, func(tx *store.Tx) error {
		res, err := tx.Exec(`DELETE FROM packing_lists WHERE id = ?`, id)
		if err != nil {
			return fmt.Errorf("packing list: delete: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return tools.Errorf(tools.NotFound, "the packing list no longer exists")
		}
		return nil
	})
	return "Removed the packing list; later lists do not use it.", err
}

// forecastFor reads the forecast. It describes what the weather is based on.
func (d Deps) forecastFor(ctx context.Context, in packIn) (weather []string, note string, err error) {
	if d.Forecast == nil {
		return nil, "", tools.Errorf(tools.Unsupported, "no forecast is available; state the weather instead")
	}
	f, err := d.Forecast(ctx, in.Destination, min(in.Days, 16))
	if err != nil {
		return nil, "", err
	}
	if f.Min == nil || f.Max == nil {
		return []string{"unknown"}, "The forecast has no temperatures.", nil
	}
	weather = temperatureTags(*f.Min, *f.Max)
	if f.Rain {
		weather = append(weather, "rain")
	}
	if f.Snow {
		weather = append(weather, "snow")
	}
	return weather, fmt.Sprintf("Forecast for %s, from today: %.0f to %.0f °C.", cleanLine(f.Place, 80), *f.Min, *f.Max), nil
}

var degrees = lazyregexp.New(`([-−]?\d{1,3}(?:\.\d)?)\s*(?:°|º|degrees?)?\s*([CF]\b)?`)

// parseWeather returns the conditions that a description of the weather states.
func parseWeather(s string) (out []string) {
	folded := textnorm.Fold(s)
	low, high, found := 0.0, 0.0, false
	all := degrees.FindAllStringSubmatch(s, -1)
	if !strings.ContainsAny(s, "°º") && !strings.Contains(folded, "degree") && !slices.ContainsFunc(all, func(m []string) bool { return m[2] != "" }) {
		all = nil // the numbers are no temperatures
	}
	for _, m := range all {
		t, err := strconv.ParseFloat(strings.Replace(m[1], "−", "-", 1), 64)
		if err != nil || t > 130 {
			continue
		}
		if m[2] == "F" || m[2] == "" && strings.Contains(s, "°F") {
			t = (t - 32) / 1.8
		}
		if !found {
			low, high, found = t, t, true
		}
		low, high = min(low, t), max(high, t)
	}
	if found {
		out = temperatureTags(low, high)
	}
	for _, w := range []struct{ tag, words string }{
		{"freezing", "freez frost icy"},
		{"cold", "cold chilly winter freez frost snow"},
		{"mild", "mild cool autumn spring changeable"},
		{"warm", "warm sunny summer"},
		{"hot", "hot tropical heat"},
		{"rain", "rain shower drizzle wet storm thunder monsoon"},
		{"snow", "snow sleet blizzard"},
	} {
		isTemperature := w.tag != "rain" && w.tag != "snow"
		if found && isTemperature { // numbers are more exact than words
			continue
		}
		if slices.ContainsFunc(strings.Fields(w.words), func(x string) bool { return strings.Contains(folded, x) }) {
			out = append(out, w.tag)
		}
	}
	if len(out) == 0 {
		return []string{"unknown"}
	}
	return out
}

// temperatureTags returns the conditions for a range of temperatures in degrees Celsius.
func temperatureTags(low, high float64) (out []string) {
	for _, t := range []struct {
		tag string
		on  bool
	}{{"freezing", low < 0}, {"cold", low < 8}, {"mild", low < 18 && high >= 8}, {"warm", high >= 18 && high < 27}, {"hot", high >= 27}} {
		if t.on {
			out = append(out, t.tag)
		}
	}
	return out
}

// tripTags returns the type of the trip and its activities as conditions.
func tripTags(in packIn) (out []string) {
	for _, s := range append([]string{cmp.Or(strings.TrimSpace(in.Trip), "leisure")}, in.Activities...) {
		for _, w := range textnorm.FoldedWords(s) {
			out = append(out, cmp.Or(map[string]string{"swim": "swimming", "hike": "hiking", "trekking": "hiking", "run": "running", "jogging": "running", "ski": "skiing", "camp": "camping", "work": "business", "conference": "business", "photo": "photography", "photos": "photography", "infant": "baby", "kids": "children", "child": "children", "wedding": "formal", "sports": "gym", "car": "driving", "drive": "driving", "bike": "cycling", "climb": "climbing"}[w], w))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// composeList applies the rules, and then what earlier lists of similar trips added and omitted. The
// call itself takes precedence.
func composeList(in packIn, tags, weather []string, old []oldList) (items []packItem, leftOut []string) {
	have := slices.Concat([]string{"always"}, tags, weather)
	if in.Days >= longTrip {
		have = append(have, "long")
	}
	has := func(item string) bool {
		return slices.ContainsFunc(items, func(x packItem) bool { return textnorm.EqualFolded(x.Item, item) })
	}
	for _, r := range packRules() {
		if !has(r.item) && !slices.ContainsFunc(r.when, func(c string) bool { return !slices.Contains(have, c) }) {
			items = append(items, packItem{Group: r.group, Item: r.item, Count: r.countFor(in.Days)})
		}
	}
	add := func(item, from string) {
		if item = cleanLine(strings.TrimSpace(item), maxItem); item != "" && !has(item) {
			items = append(items, packItem{Group: "your own items", Item: item, From: from})
		}
	}
	omit := slices.Clone(in.LeaveOut)
	for _, x := range in.Add {
		add(x, "")
	}
	for _, l := range old {
		if !l.isLike(in.Destination, tags) {
			continue
		}
		for _, x := range l.added {
			add(x, fmt.Sprintf("%s, %s", l.destination, l.at.Format("January 2006")))
		}
		for _, x := range l.leftOut {
			if !slices.ContainsFunc(in.Add, func(a string) bool { return textnorm.EqualFolded(a, x) }) {
				omit = append(omit, x)
			}
		}
	}
	items = slices.DeleteFunc(items, func(x packItem) bool {
		i := slices.IndexFunc(omit, func(o string) bool {
			words := textnorm.FoldedWords(o)
			return len(words) > 0 && textnorm.ContainsAllWords(x.Item, words)
		})
		if i >= 0 && !slices.Contains(leftOut, x.Item) {
			leftOut = append(leftOut, x.Item)
		}
		return i >= 0
	})
	return items, leftOut
}

// countFor evaluates a count such as "days+1 max 10" or "days/3 max 4".
func (r packRule) countFor(days int) int {
	expr, limit, ok := strings.Cut(r.count, " max ")
	most, err := strconv.Atoi(limit)
	if !ok || err != nil {
		return 0
	}
	n := days
	if more, ok := strings.CutPrefix(expr, "days+"); ok {
		plus, _ := strconv.Atoi(more)
		n += plus
	} else if per, ok := strings.CutPrefix(expr, "days/"); ok {
		by, _ := strconv.Atoi(per)
		n = (days + by - 1) / max(1, by)
	}
	return max(1, min(n, most))
}

// describeList formats the list.
func (out packOut) describeList(note string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Packing list for %s, %s", textnorm.Ellipsize(out.Destination, 80), textnorm.CountNoun(out.Days, "day", "days"))
	switch {
	case out.Weather == "unknown":
		b.WriteString(". No forecast was used: state the weather, or set use_forecast.")
	default:
		b.WriteString(" (" + out.Weather + ").")
	}
	if note != "" {
		b.WriteString(" " + note)
	}
	group := ""
	for _, x := range out.Items {
		if x.Group != group {
			group = x.Group
			b.WriteString("\n\n" + strings.ToUpper(group[:1]) + group[1:])
		}
		b.WriteString("\n- ")
		if x.Count > 0 {
			fmt.Fprintf(&b, "%d ", x.Count)
		}
		b.WriteString(x.Item)
		if x.From != "" {
			b.WriteString(" (from your list for " + x.From + ")")
		}
	}
	if len(out.LeftOut) > 0 {
		b.WriteString("\n\nLeft out, as you asked: " + strings.Join(out.LeftOut, ", ") + ".")
	}
	if out.Days >= longTrip {
		b.WriteString("\n\nThe counts of clothes are limited; wash clothes on the way.")
	}
	return b.String()
}

// oldList is what the user changed in an earlier list.
type oldList struct {
	destination    string
	tags           []string
	added, leftOut []string
	provenance     provenance.Source
	at             time.Time
}

// isLike reports whether a trip resembles this one: the same destination, or a common activity.
func (l oldList) isLike(destination string, tags []string) bool {
	return textnorm.EqualFolded(l.destination, destination) || slices.ContainsFunc(tags, func(t string) bool { return slices.Contains(l.tags, t) })
}

func joinItems(list []string) string {
	var out []string
	for _, x := range list {
		if x = cleanLine(strings.TrimSpace(x), maxItem); x != "" {
			out = append(out, x)
		}
	}
	return strings.Join(out, "\n")
}

// earlierLists returns the lists with changes, newest first.
func (d Deps) earlierLists(ctx context.Context) (out []oldList, err error) {
	rows, err := d.Store.Reader(ctx).Query(`SELECT destination, tags, added, left_out, provenance, created_at FROM packing_lists WHERE added <> '' OR left_out <> '' ORDER BY created_at DESC LIMIT ?`, maxOldLists)
	if err != nil {
		return nil, fmt.Errorf("packing list: read earlier lists: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var l oldList
		var tags, added, left string
		var created int64
		if err := rows.Scan(&l.destination, &tags, &added, &left, &l.provenance, &created); err != nil {
			return nil, fmt.Errorf("packing list: read earlier lists: %w", err)
		}
		l.tags, l.at = strings.Fields(tags), store.Time(created)
		l.added, l.leftOut = strings.FieldsFunc(added, isLineBreak), strings.FieldsFunc(left, isLineBreak)
		out = append(out, l)
	}
	return out, rows.Err()
}

func isLineBreak(r rune) bool { return r == '\n' }
