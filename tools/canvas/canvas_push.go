package canvas

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type pushIn struct {
	Content     string `json:"content,omitempty" jsonschema:"for table, bar and line: CSV with a header row; the first column of a chart has the labels"`
	ContentType string `json:"content_type,omitempty" jsonschema:"markdown (default), html, table, bar or line (charts)"`
	Title       string `json:"title,omitempty" jsonschema:"a widget with this title is replaced"`
	Append      bool   `json:"append,omitempty" jsonschema:"add to the widget"`
	Pin         *bool  `json:"pin,omitempty" jsonschema:"keep it at the top of Today"`
}

// widgetUndo is the undo data of a change: the widgets before it and the widgets after it. Widgets
// that the change did not affect are in neither list.
type widgetUndo struct {
	Before []Widget `json:"before,omitempty"`
	After  []Widget `json:"after,omitempty"`
}

func (d Deps) pushToCanvas() tools.Tool {
	return tools.New(tools.Def[pushIn]{
		Spec: tools.Spec{
			Name: "canvas_push", Category: "canvas", Effects: tools.Write,
			Description: "Show a text, table or chart to the user as a widget on the dashboard's page Today. It cannot contain scripts, links, forms or pictures.",
			Keywords:    "canvas display render html markdown show page visual chart plot graph diagram bar line table widget dashboard pin",
		},
		Summary: func(in pushIn) string { return "Show the widget " + strconv.Quote(cleanTitle(in.Title)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in pushIn) (tools.Result, error) {
			return pushWidget(tx, c, in)
		},
		UndoTx: undoChange,
	})
}

// pushWidget creates or changes one widget.
func pushWidget(tx *store.Tx, c tools.Call, in pushIn) (tools.Result, error) {
	title := cleanTitle(in.Title)
	old, exists, err := findWidget(tx, title)
	if err != nil {
		return tools.Result{}, err
	}
	w, err := mergeWidget(old, exists, c, in)
	if err != nil {
		return tools.Result{}, err
	}
	change := widgetUndo{After: []Widget{w}}
	undo := "remove the widget " + strconv.Quote(w.Title)
	if exists {
		change.Before = []Widget{old}
		undo = "restore the widget " + strconv.Quote(old.Title)
	} else if err := checkRoom(tx); err != nil {
		return tools.Result{}, err
	}
	if err := writeWidget(tx, w); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: pushText(w, exists), Data: w, Source: worstSource([]Widget{w}), Undo: tools.NewUndo(undo, change)}, nil
}

func pushText(w Widget, existed bool) string {
	text := fmt.Sprintf("Put the widget %q on the page Today.", w.Title)
	if existed {
		text = fmt.Sprintf("Changed the widget %q on the page Today.", w.Title)
	}
	if w.Pinned {
		text += " It is pinned."
	}
	return text
}

// mergeWidget returns the widget that a call creates, or that it makes of an old one.
func mergeWidget(old Widget, exists bool, c tools.Call, in pushIn) (Widget, error) {
	now := c.Now.UTC().Truncate(time.Millisecond)
	w := Widget{ID: shortid.New("c"), Title: cleanTitle(in.Title), Provenance: provenance.Worst(c.Provenance), CreatedAt: now, UpdatedAt: now}
	kind := strings.ToLower(strings.TrimSpace(in.ContentType))
	if exists {
		w.ID, w.CreatedAt, w.Pinned = old.ID, old.CreatedAt, old.Pinned
		if !now.After(old.UpdatedAt) { // the address of the frame contains the time, and must change with the content
			w.UpdatedAt = old.UpdatedAt.Add(time.Millisecond)
		}
	}
	if in.Pin != nil {
		w.Pinned = *in.Pin
	}
	switch content := strings.TrimSpace(in.Content); {
	case content == "" && (!exists || in.Pin == nil):
		return w, tools.Errorf(tools.InvalidArguments, "content is empty")
	case content == "":
		w.Kind, w.Content, w.Provenance, w.Title = old.Kind, old.Content, old.Provenance, old.Title
		return w, nil
	case in.Append && exists:
		if kind != "" && kind != old.Kind {
			return w, tools.Quoting(tools.Errorf(tools.InvalidArguments, "the widget %q contains %s; append content of the same type, or replace it", tools.Clean(old.Title), tools.Clean(old.Kind)), old.Provenance)
		}
		w.Kind, w.Content, w.Provenance = old.Kind, joinContent(old, content), provenance.Worst(old.Provenance, c.Provenance)
	default:
		w.Kind, w.Content = kind, content
		if kind == "" {
			w.Kind = kindMarkdown
		}
	}
	return w, checkContent(w)
}

// joinContent appends content to a widget. A repeated header row is omitted.
func joinContent(old Widget, content string) string {
	if !hasRows(old.Kind) {
		return old.Content + "\n\n" + content
	}
	head, _, _ := strings.Cut(old.Content, "\n")
	first, rest, _ := strings.Cut(content, "\n")
	if strings.TrimSpace(first) == strings.TrimSpace(head) {
		content = rest
	}
	return old.Content + "\n" + content
}

// checkContent checks the kind and the content of a widget.
func checkContent(w Widget) error {
	if n := utf8.RuneCountInString(w.Content); n > maxContent {
		return tools.Errorf(tools.InvalidArguments, "the content has %d characters, more than %d; show less, or use several widgets", n, maxContent)
	}
	switch {
	case w.Kind == kindMarkdown, w.Kind == kindHTML:
		return nil
	case !hasRows(w.Kind):
		return tools.Errorf(tools.InvalidArguments, "content_type must be markdown, html, table, bar or line, not %q", tools.Clean(textnorm.Ellipsize(w.Kind, 40)))
	}
	g, err := parseGrid(w.Content)
	if err == nil && w.Kind != kindTable {
		_, err = g.chartData()
	}
	return tools.Quoting(err, w.Provenance)
}

// checkRoom returns an error if the canvas is full.
func checkRoom(tx *store.Tx) error {
	list, err := queryWidgets(tx, widgetOrder)
	if err != nil || len(list) < maxWidgets {
		return err
	}
	oldest := list[len(list)-1]
	err = tools.Errorf(tools.Conflict, "the canvas already has %d widgets; remove one first, such as %q: canvas_reset", maxWidgets, tools.Clean(oldest.Title))
	return tools.Quoting(err, oldest.Provenance)
}

// undoChange reverts a change, unless the widgets have changed since.
func undoChange(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var u widgetUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	for _, w := range u.After {
		now, err := queryWidgets(tx, `WHERE id = ?`, w.ID)
		if err != nil {
			return "", err
		}
		if len(now) == 0 || !now[0].UpdatedAt.Equal(w.UpdatedAt) {
			return "", tools.Quoting(tools.Errorf(tools.Conflict, "the widget %q has changed since", tools.Clean(w.Title)), w.Provenance)
		}
		if err := deleteWidget(tx, w.ID); err != nil {
			return "", err
		}
	}
	for _, w := range u.Before {
		if _, taken, err := findWidget(tx, w.Title); err != nil || taken {
			if err == nil {
				err = tools.Quoting(tools.Errorf(tools.Conflict, "there is another widget %q now", tools.Clean(w.Title)), w.Provenance)
			}
			return "", err
		}
		if err := writeWidget(tx, w); err != nil {
			return "", err
		}
	}
	if len(u.Before) == 0 {
		return fmt.Sprintf("Removed %s from the page Today.", listTitles(u.After)), nil
	}
	return fmt.Sprintf("Restored %s on the page Today.", listTitles(u.Before)), nil
}

// listTitles names one or several widgets.
func listTitles(list []Widget) string {
	var titles []string
	for _, w := range list {
		titles = append(titles, strconv.Quote(w.Title))
	}
	if len(titles) == 1 {
		return "the widget " + titles[0]
	}
	return "the widgets " + strings.Join(titles, ", ")
}
