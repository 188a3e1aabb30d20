// Package canvas provides canvas_push, canvas_reset, canvas_eval and canvas_snapshot. They manage
// the widgets on the dashboard's page Today: a text, a page of HTML, a table or a chart.
//
// A widget contains only what is declared here. HTML is reduced to an allow-list of elements, and
// charts are drawn by Hob, so a widget has no scripts, links, forms, pictures or addresses. The
// dashboard also shows each widget in a sandboxed frame without network access. Nothing evaluates
// code: canvas_eval computes with the rows of a table or chart.
package canvas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

const (
	maxWidgets = 12
	maxContent = 100_000 // characters
	maxTitle   = 80      // characters

	defaultTitle = "Canvas"
)

// Deps are the dependencies of the tools.
type Deps struct {
	Store *store.Store
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	return []tools.Tool{d.pushToCanvas(), d.resetCanvas(), d.computeOnCanvas(), d.readCanvas()}
}

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "canvas", Steps: []string{`
CREATE TABLE widgets (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL UNIQUE, -- the title, folded for comparing
	title TEXT NOT NULL,
	kind TEXT NOT NULL,        -- markdown, html, table, bar or line
	content TEXT NOT NULL,
	pinned INTEGER NOT NULL,
	provenance TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) WITHOUT ROWID;`}}}
}

// The kinds of widgets.
const (
	kindMarkdown = "markdown"
	kindHTML     = "html"
	kindTable    = "table"
	kindBar      = "bar"
	kindLine     = "line"
)

// hasRows reports whether the content of a kind consists of rows.
func hasRows(kind string) bool { return kind == kindTable || kind == kindBar || kind == kindLine }

// Widget is one stored widget.
type Widget struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Kind       string            `json:"content_type"`
	Content    string            `json:"content"`
	Pinned     bool              `json:"pinned"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// foldTitle normalizes a title for comparison. It returns a title without letters or digits, such as
// an emoji, unchanged.
func foldTitle(title string) string {
	if words := textnorm.FoldedWords(title); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return strings.TrimSpace(title)
}

// cleanTitle returns a title on one line, or the default title for an empty one.
func cleanTitle(title string) string {
	if title = textnorm.Ellipsize(title, maxTitle); title != "" {
		return title
	}
	return defaultTitle
}

func queryWidgets(q store.Querier, tail string, args ...any) (out []Widget, err error) {
	rows, err := q.Query(`SELECT id, title, kind, content, pinned, provenance, created_at, updated_at FROM widgets `+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("canvas: read widgets: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Widget{}
	for rows.Next() {
		var w Widget
		var pinned int
		var created, updated int64
		if err := rows.Scan(&w.ID, &w.Title, &w.Kind, &w.Content, &pinned, &w.Provenance, &created, &updated); err != nil {
			return nil, fmt.Errorf("canvas: read widgets: %w", err)
		}
		w.Pinned, w.CreatedAt, w.UpdatedAt = pinned != 0, store.Time(created), store.Time(updated)
		out = append(out, w)
	}
	return out, rows.Err()
}

// widgetOrder lists pinned widgets first, then the newest ones.
const widgetOrder = `ORDER BY pinned DESC, created_at DESC, id`

// findWidget returns the widget with a title.
func findWidget(q store.Querier, title string) (Widget, bool, error) {
	list, err := queryWidgets(q, `WHERE name = ?`, foldTitle(title))
	if err != nil || len(list) == 0 {
		return Widget{}, false, err
	}
	return list[0], true, nil
}

// requireWidget returns the widget with a title. The error lists the titles that exist.
func requireWidget(q store.Querier, title string) (Widget, error) {
	w, ok, err := findWidget(q, title)
	if err != nil || ok {
		return w, err
	}
	all, err := queryWidgets(q, widgetOrder)
	if err != nil {
		return Widget{}, err
	}
	if len(all) == 0 {
		return Widget{}, tools.Errorf(tools.NotFound, "the canvas is empty; add a widget with canvas_push")
	}
	var titles []string
	var sources []provenance.Source
	for _, x := range all {
		titles, sources = append(titles, fmt.Sprintf("%q", x.Title)), append(sources, x.Provenance)
	}
	err = tools.Errorf(tools.NotFound, "there is no widget %q; the widgets are %s", tools.Clean(textnorm.Ellipsize(title, maxTitle)), tools.Clean(strings.Join(titles, ", ")))
	return Widget{}, tools.Quoting(err, sources...)
}

// writeWidget inserts or replaces a widget.
func writeWidget(tx *store.Tx, w Widget) error {
	if err := deleteWidget(tx, w.ID); err != nil {
		return err
	}
	pinned := 0
	if w.Pinned {
		pinned = 1
	}
	_, err := tx.Exec(`INSERT INTO widgets (id, name, title, kind, content, pinned, provenance, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?)`,
		w.ID, foldTitle(w.Title), w.Title, w.Kind, w.Content, pinned, string(w.Provenance), store.Millis(w.CreatedAt), store.Millis(w.UpdatedAt))
	if err != nil {
		return fmt.Errorf("canvas: write a widget: %w", err)
	}
	return nil
}

func deleteWidget(tx *store.Tx, id string) error {
	if _, err := tx.Exec(`DELETE FROM widgets WHERE id = ?`, id); err != nil {
		return fmt.Errorf("canvas: delete a widget: %w", err)
	}
	return nil
}

// worstSource returns the provenance of a text that shows the widgets.
func worstSource(list []Widget) provenance.Source {
	for _, w := range list {
		if w.Provenance.Tainted() {
			return provenance.Outside
		}
	}
	return provenance.Tool
}

// API implements api.Canvas.
type API struct{ Store *store.Store }

// Widgets implements api.Canvas.
func (a API) Widgets(ctx context.Context, q api.Query) ([]api.Widget, error) {
	list, err := queryWidgets(a.Store.Reader(ctx), `WHERE ? = '' OR id = ? `+widgetOrder, q.Of, q.Of)
	out := make([]api.Widget, len(list))
	for i, w := range list {
		out[i] = api.Widget{
			ID: w.ID, Title: w.Title, ContentType: w.Kind, Height: estimateHeight(w), Pinned: w.Pinned, Provenance: w.Provenance,
			CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
		}
		if q.Of != "" {
			out[i].HTML = renderWidget(w)
		}
	}
	return out, err
}
