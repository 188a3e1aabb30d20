package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/shortid"
	"hob/platform/text/tabular"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type importIn struct {
	Path      string `json:"path" jsonschema:"CSV file of a habit tracker"`
	Habit     string `json:"habit,omitempty" jsonschema:"name of the habit if the file contains only one and does not name it"`
	DateOrder string `json:"date_order,omitempty" jsonschema:"the user's answer: dmy or mdy"`
}

// Limits of an import.
const (
	maxImport  = 10 << 20
	maxEntries = 20_000
)

// importOut is the Data of import_habits.
type importOut struct {
	File    string         `json:"file"`
	Added   int            `json:"added"`
	Known   int            `json:"known"` // logged before
	Skipped int            `json:"skipped"`
	Habits  map[string]int `json:"habits"` // added entries of each habit
	Why     []string       `json:"why,omitempty"`
}

func (d Deps) importHabits() tools.Tool {
	return tools.New(tools.Def[importIn]{
		Spec: tools.Spec{
			Name: "import_habits", Category: "health", Effects: tools.Write, Timeout: time.Minute,
			Description: "Import habits from a CSV file: one row per entry (date, habit, value, unit, note), or a date and one column per habit. Entries logged before are recognized.",
			Keywords:    "import habits csv habit tracker loop streaks export load",
		},
		Summary: func(in importIn) string { return "Import the habits in " + textnorm.Ellipsize(in.Path, 200) },
		Prepare: func(ctx context.Context, _ tools.Call, in importIn) (any, error) {
			if d.Read == nil {
				return nil, tools.Errorf(tools.Unsupported, "files cannot be read here")
			}
			return d.Read(ctx, strings.TrimSpace(in.Path), maxImport)
		},
		RunTx:  runImport,
		UndoTx: undoImport,
	})
}

func runImport(_ context.Context, tx *store.Tx, c tools.Call, in importIn) (tools.Result, error) {
	f, ok := c.Prepared.(knowledge.File)
	if !ok {
		return tools.Result{}, tools.Errorf(tools.Failed, "the file was not read")
	}
	t, err := readHabitTable(f, in)
	if err != nil {
		return tools.Result{}, err
	}
	entries, err := t.collectEntries(c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	out := importOut{File: filepath.Base(f.Path), Skipped: t.skipped, Why: t.why, Habits: map[string]int{}}
	source := provenance.Worst(c.Provenance)
	r := tools.Result{Source: provenance.Tool, Origins: f.Origins}
	if f.Source.Tainted() {
		source, r.Source = provenance.Worst(source, f.Source), provenance.Outside
	}
	known, err := loggedKeys(tx)
	if err != nil {
		return r, err
	}
	var ids []string
	for _, e := range entries {
		if known[entryKey(e)] {
			out.Known++
			continue
		}
		e.ID, e.Provenance, e.CreatedAt = shortid.New("h"), source, c.Now.UTC().Truncate(time.Millisecond)
		if err := insertEntry(tx, e); err != nil {
			return r, err
		}
		known[entryKey(e)] = true
		ids = append(ids, e.ID)
		out.Habits[e.Habit]++
	}
	out.Added = len(ids)
	r.Data, r.Text = out, importText(out)
	if len(ids) > 0 {
		r.Undo = tools.NewUndo(fmt.Sprintf("remove the %d imported entries", len(ids)), ids)
	}
	return r, nil
}

func importText(o importOut) string {
	text := fmt.Sprintf("Imported %s from %s.", textnorm.CountNoun(o.Added, "entry", "entries"), o.File)
	if o.Known > 0 {
		text += fmt.Sprintf(" %d logged before.", o.Known)
	}
	var names []string
	for name := range o.Habits {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text += fmt.Sprintf("\n- %s: %d", textnorm.Ellipsize(name, 60), o.Habits[name])
	}
	if o.Skipped > 0 {
		text += fmt.Sprintf("\nNot read: %s (%s).", textnorm.CountNoun(o.Skipped, "value", "values"), strings.Join(o.Why, "; "))
	}
	return text
}

// entryKey identifies equal entries of a day.
func entryKey(e Entry) string {
	value := ""
	if e.Value != nil {
		value = strconv.FormatFloat(*e.Value, 'g', -1, 64)
	}
	return strings.Join([]string{foldName(e.Habit), e.Day, value, strings.ToLower(e.Unit)}, "\x00")
}

func loggedKeys(q store.Querier) (map[string]bool, error) {
	list, err := queryEntries(q, "")
	out := map[string]bool{}
	for _, e := range list {
		out[entryKey(e)] = true
	}
	return out, err
}

func undoImport(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var ids []string
	if err := json.Unmarshal(data, &ids); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	removed := int64(0)
	for _, id := range ids {
		res, err := tx.Exec(`DELETE FROM habits WHERE id = ?`, id)
		if err != nil {
			return "", fmt.Errorf("habits: undo the import: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return "", fmt.Errorf("habits: undo the import: %w", err)
		}
		removed += n
	}
	if removed == 0 {
		return "", tools.Errorf(tools.NotFound, "the imported entries no longer exist")
	}
	return fmt.Sprintf("Removed %s.", textnorm.CountNoun(int(removed), "imported entry", "imported entries")), nil
}

// habitTable is a table whose columns have a meaning.
type habitTable struct {
	rows    []tabular.Row
	head    []string
	columns map[string]int
	habit   string // of all rows; "" if a column or the headings name the habits
	marks   bool   // a file of Loop Habit Tracker, whose values are marks and not amounts
	order   tabular.Order
	skipped int
	why     []string
}

// habitHeadings maps the meaning of a column to its headings, folded.
var habitHeadings = map[string][]string{
	"date":  {"date", "day", "datum", "data", "fecha", "jour", "timestamp", "start date", "time"},
	"habit": {"habit", "habit name", "name", "activity", "gewohnheit", "iprotis", "exercise", "task", "type", "category"},
	"value": {"value", "amount", "count", "duration", "quantity", "wert", "minutes", "km", "distance", "steps", "repetitions", "reps"},
	"unit":  {"unit", "units", "einheit"},
	"note":  {"note", "notes", "comment", "comments", "description"},
}

// readHabitTable finds the meaning of the columns.
func readHabitTable(f knowledge.File, in importIn) (*habitTable, error) {
	text, _, err := tabular.Decode(f.Content, "")
	if err != nil {
		return nil, tools.Errorf(tools.InvalidArguments, "nothing was imported: %w", tools.CleanErr(err))
	}
	rows, err := tabular.ReadRows(text)
	if err == nil && len(rows) < 2 {
		err = errNoRows
	}
	if err != nil {
		return nil, tools.Errorf(tools.InvalidArguments, "nothing was imported: the file is no table with headings and rows: %w", err)
	}
	t := &habitTable{head: rows[0].Cells, rows: rows[1:], columns: map[string]int{}, habit: strings.Join(strings.Fields(in.Habit), " "), marks: strings.EqualFold(filepath.Base(f.Path), "checkmarks.csv")}
	for i, h := range t.head {
		for meaning, list := range habitHeadings {
			if _, ok := t.columns[meaning]; !ok && slices.Contains(list, strings.Join(textnorm.FoldedWords(h), " ")) {
				t.columns[meaning] = i
			}
		}
	}
	if _, ok := t.columns["date"]; !ok {
		return nil, tools.Errorf(tools.InvalidArguments, "nothing was imported: no column is called date; the columns are %s", strings.Join(t.head[:min(len(t.head), 20)], ", "))
	}
	return t, t.resolveOrder(in.DateOrder)
}

var errNoRows = errors.New("it needs a row with headings")

func (t *habitTable) resolveOrder(answer string) error {
	switch t.order = tabular.Order(answer); t.order {
	case tabular.DayFirst, tabular.MonthFirst, tabular.YearFirst:
		return nil
	case "":
	default:
		return tools.Errorf(tools.InvalidArguments, "date_order must be dmy, mdy or ymd")
	}
	var dates []string
	for _, r := range t.rows {
		dates = append(dates, t.cellOf(r, "date"))
	}
	var err error
	if t.order, err = tabular.DetectOrder(dates); err != nil {
		return tools.Errorf(tools.InvalidArguments, "nothing was imported: %w; ask the user, then call again with date_order", tools.CleanErr(err))
	}
	return nil
}

func (t *habitTable) cellOf(r tabular.Row, meaning string) string {
	i, ok := t.columns[meaning]
	if !ok || i >= len(r.Cells) {
		return ""
	}
	return r.Cells[i]
}

// collectEntries returns the entries of all rows. Without a column for the habit, and without an
// argument that names it, each other column is a habit.
func (t *habitTable) collectEntries(now time.Time) ([]Entry, error) {
	_, named := t.columns["habit"]
	var out []Entry
	for _, r := range t.rows {
		day, ok := tabular.ParseDay(t.cellOf(r, "date"), t.order)
		date := day.Format(time.DateOnly)
		switch {
		case !ok:
			t.skipEntry(fmt.Sprintf("line %d: %q is not a date", r.Line, textnorm.Ellipsize(t.cellOf(r, "date"), 30)))
			continue
		case date > now.Format(time.DateOnly):
			t.skipEntry(fmt.Sprintf("line %d: the date %s is in the future", r.Line, date))
			continue
		case named || t.habit != "":
			e := Entry{Habit: t.cellOf(r, "habit"), Day: date, Unit: t.cellOf(r, "unit"), Note: textnorm.Ellipsize(t.cellOf(r, "note"), 500)}
			if t.habit != "" {
				e.Habit = t.habit
			}
			if e.Unit == "" {
				e.Unit = t.unitOfHeading()
			}
			if t.setValue(&e, t.cellOf(r, "value"), r.Line) {
				out = append(out, e)
			}
		default:
			for i, cell := range r.Cells {
				if i == t.columns["date"] || i >= len(t.head) || cell == "" {
					continue
				}
				e := Entry{Habit: t.head[i], Day: date}
				if t.setValue(&e, cell, r.Line) {
					out = append(out, e)
				}
			}
		}
		if len(out) > maxEntries {
			return nil, tools.Errorf(tools.InvalidArguments, "nothing was imported: the file has more than %d entries; import a part of it", maxEntries)
		}
	}
	return out, nil
}

// unitOfHeading returns the unit that the heading of the values names, such as "minutes".
func (t *habitTable) unitOfHeading() string {
	i, ok := t.columns["value"]
	if !ok {
		return ""
	}
	switch h := strings.ToLower(t.head[i]); h {
	case "minutes", "km", "steps", "repetitions", "reps":
		return h
	}
	return ""
}

func (t *habitTable) skipEntry(why string) {
	t.skipped++
	if len(t.why) < 5 {
		t.why = append(t.why, why)
	}
}

// setValue sets the value of an entry from a cell. It returns false if the habit was not done, or if
// the cell cannot be read.
func (t *habitTable) setValue(e *Entry, cell string, line int) bool {
	e.Habit = textnorm.Ellipsize(strings.Join(strings.Fields(e.Habit), " "), 100)
	e.Unit = textnorm.Ellipsize(e.Unit, 20)
	if foldName(e.Habit) == "" {
		t.skipEntry(fmt.Sprintf("line %d names no habit", line))
		return false
	}
	switch word := strings.ToLower(cell); word {
	case "":
		return true
	case "yes", "true", "x", "done", "y", "✓", "✔", "ja", "oui", "si", "sí", "taip", "yes_manual", "completed":
		return true
	case "no", "false", "n", "-", "nein", "non", "ne", "skip", "unknown", "yes_auto", "missed":
		return false
	}
	mark, err := amount.DetectMark([]string{cell})
	if err != nil {
		t.skipEntry(fmt.Sprintf("line %d: %q may be thousands or decimals", line, textnorm.Ellipsize(cell, 20)))
		return false
	}
	number := cell
	if mark == ',' {
		number = strings.ReplaceAll(strings.ReplaceAll(cell, ".", ""), ",", ".")
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, " ", ""), 64)
	switch {
	case err != nil || math.IsNaN(v) || math.Abs(v) > 1e12:
		t.skipEntry(fmt.Sprintf("line %d: %q is not a number", line, textnorm.Ellipsize(cell, 20)))
		return false
	case t.marks:
		return v == 2 // 0 and -1: not done; 1: not scheduled; 3: skipped
	case v <= 0:
		return false
	case v == 1 && e.Unit == "": // done, as in a table of 0 and 1
		return true
	}
	e.Value = &v
	return true
}
