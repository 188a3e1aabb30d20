package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type trackTopicIn struct {
	Topic         string   `json:"topic" jsonschema:"the topic, in words that a search understands"`
	Keywords      []string `json:"keywords,omitempty" jsonschema:"report only pages with one of these words"`
	IntervalHours int      `json:"interval_hours,omitempty" jsonschema:"hours between searches, 1 to 744 (default 24)"`
}

type trackFeedIn struct {
	Name          string   `json:"name" jsonschema:"name of the feed for the user, such as Coast news"`
	Source        string   `json:"source" jsonschema:"address of a feed or a page, or words to search for"`
	SourceType    string   `json:"source_type,omitempty" jsonschema:"feed (default for an address), page, or search (default for words)"`
	Keywords      []string `json:"keywords,omitempty" jsonschema:"report only entries with one of these words"`
	IntervalHours int      `json:"interval_hours,omitempty" jsonschema:"hours between checks, 1 to 744 (default: feed half an hour, page 1, search 24)"`
}

type untrackFeedIn struct {
	Feed string `json:"feed" jsonschema:"name, id or address of a tracked feed or topic"`
}

// Kinds of watchers that report news.
const (
	feedKind   = "feed"
	pageKind   = "page"
	searchKind = "search"
)

func (d Deps) trackTopic() tools.Tool {
	return d.newTracker(tools.Spec{
		Name:        "track_topic",
		Description: "Follow a topic: search the web for it again and again, and report pages that are new.",
		Keywords:    "topic track follow monitor keep an eye news updates subject interest what is new search again",
	}).topicTool()
}

func (d Deps) trackFeed() tools.Tool {
	return d.newTracker(tools.Spec{
		Name:        "track_feed",
		Description: "Follow a feed (RSS, Atom), a page or a search under a name, and report new entries; content_digest sums them up.",
		Keywords:    "rss atom feed blog news podcast subscribe subscription follow website site newsletter",
	}).feedTool()
}

// tracker builds the tools that create watchers for news.
type tracker struct {
	Deps
	spec tools.Spec
	f    watcherFamily
}

func (d Deps) newTracker(spec tools.Spec) tracker {
	spec.Category, spec.Effects = "watch", tools.Write|tools.Egress
	return tracker{d, spec, d.newFamily("watcher")}
}

// newsSource is a source to follow.
type newsSource struct {
	name, kind, source string
	words              []string
	hours              int
}

func (t tracker) topicTool() tools.Tool {
	read := func(in trackTopicIn) newsSource {
		return newsSource{kind: searchKind, source: in.Topic, words: in.Keywords, hours: in.IntervalHours}
	}
	return tools.New(tools.Def[trackTopicIn]{
		Spec:    t.spec,
		Judge:   func(_ context.Context, in trackTopicIn) tools.CallAssessment { return t.assessSource(read(in)) },
		Summary: func(in trackTopicIn) string { return t.describeTracking(read(in)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in trackTopicIn) (tools.Result, error) {
			return t.addSource(tx, c, read(in))
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return t.f.undoCreate(tx, data)
		},
	})
}

func (t tracker) feedTool() tools.Tool {
	return tools.New(tools.Def[trackFeedIn]{
		Spec: t.spec,
		Judge: func(_ context.Context, in trackFeedIn) tools.CallAssessment {
			s, err := in.readSource()
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return t.assessSource(s)
		},
		Summary: func(in trackFeedIn) string {
			s, _ := in.readSource()
			return t.describeTracking(s)
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in trackFeedIn) (tools.Result, error) {
			s, err := in.readSource()
			if err != nil {
				return tools.Result{}, err
			}
			if err := t.checkNewName(tx, s.name); err != nil {
				return tools.Result{}, err
			}
			return t.addSource(tx, c, s)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return t.f.undoCreate(tx, data)
		},
	})
}

// sourceTypes maps the words for a type of source to the kind of the watcher.
var sourceTypes = map[string]string{
	"feed": feedKind, "rss": feedKind, "atom": feedKind, "podcast": feedKind, "page": pageKind, "website": pageKind, "web": pageKind, "site": pageKind,
	"search": searchKind, "search_query": searchKind, "topic": searchKind,
}

// readSource checks the arguments. Without a type, an address is a feed and words are a search.
func (in trackFeedIn) readSource() (s newsSource, err error) {
	s = newsSource{name: strings.Join(strings.Fields(in.Name), " "), source: strings.TrimSpace(in.Source), words: in.Keywords, hours: in.IntervalHours}
	switch {
	case s.name == "":
		return s, tools.Errorf(tools.InvalidArguments, "name is empty; give the feed a name")
	case s.source == "":
		return s, tools.Errorf(tools.InvalidArguments, "source is empty; give the address of a feed or a page, or words to search for")
	}
	kind := strings.ToLower(strings.TrimSpace(in.SourceType))
	if kind == "" {
		kind = searchKind
		if host, _, _ := strings.Cut(s.source, "/"); strings.Contains(s.source, "://") || strings.Contains(host, ".") && !strings.ContainsAny(s.source, " \t") {
			kind = feedKind
		}
	}
	var known bool
	if s.kind, known = sourceTypes[kind]; !known {
		return s, tools.Errorf(tools.InvalidArguments, "source_type must be feed, page or search, not %q", tools.Clean(textnorm.Ellipsize(kind, 40)))
	}
	return s, nil
}

// watcherConfig returns the configuration of the watcher for a source.
func (s newsSource) watcherConfig() (json.RawMessage, error) {
	if s.hours < 0 || s.hours > 744 {
		return nil, tools.Errorf(tools.InvalidArguments, "interval_hours must be 1 to 744")
	}
	config := map[string]any{"url": s.source}
	if s.kind == searchKind {
		config = map[string]any{"query": s.source}
	}
	if words := slices.DeleteFunc(slices.Clone(s.words), func(w string) bool { return strings.TrimSpace(w) == "" }); len(words) > 0 {
		config["words"] = words
	}
	if s.hours > 0 {
		config["every"] = fmt.Sprintf("%dh", s.hours)
	}
	return json.Marshal(config)
}

func (t tracker) assessSource(s newsSource) tools.CallAssessment {
	config, err := s.watcherConfig()
	if err != nil {
		return tools.CallAssessment{Refused: err}
	}
	return t.assessWatcher(tools.Write, s.kind, config)
}

func (t tracker) describeTracking(s newsSource) string {
	return "Follow " + textnorm.Ellipsize(s.source, 200) + " and notify you of what is new"
}

// checkNewName rejects a name that another tracked feed has, because untrack_feed finds feeds by
// their names.
func (t tracker) checkNewName(tx *store.Tx, name string) error {
	list, err := t.f.livingMembers(tx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if isNewsKind(s.Kind) && textnorm.EqualFolded(s.Title, name) {
			return tools.Errorf(tools.Conflict, "a feed with the name %q is already tracked; use another name, or stop it with untrack_feed", tools.Clean(textnorm.Ellipsize(name, 60)))
		}
	}
	return nil
}

// FollowedNews returns the watchers of the feeds, pages and topics that the user follows, newest
// first.
func FollowedNews(m Manager, q store.Querier) ([]watchers.Spec, error) {
	return m.ListIn(q, watchers.Filter{Kinds: []string{feedKind, pageKind, searchKind}, States: []watchers.State{watchers.Active, watchers.Broken}})
}

func isNewsKind(kind string) bool { return kind == feedKind || kind == pageKind || kind == searchKind }

func (t tracker) addSource(tx *store.Tx, c tools.Call, s newsSource) (tools.Result, error) {
	config, err := s.watcherConfig()
	if err != nil {
		return tools.Result{}, err
	}
	made, err := t.Manager.CreateTx(tx, watchers.Spec{
		Kind: s.kind, Title: s.name, Config: config, Mode: watchers.Notify, Report: c.Report, Agent: c.Agent, Provenance: callProvenance(c), CreatedAt: c.Now,
	})
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	words := t.Manager.Describe(made)
	text := "I follow " + words
	if s.name != "" {
		text += " as " + textnorm.Ellipsize(s.name, 80)
	}
	text += " and will notify you of what is new."
	if next := t.Manager.NextWords(made, c.Now); next != "" {
		text += " Next check: " + next + "."
	}
	return tools.Result{
		Source: provenance.Tool, Text: text, Data: watcherRow{Spec: made, Description: words},
		Undo: tools.NewUndo("stop following "+cmp.Or(s.name, words), createUndo{ID: made.ID}),
	}, nil
}

func (d Deps) untrackFeed() tools.Tool {
	f := d.newFamily("watcher")
	return tools.New(tools.Def[untrackFeedIn]{
		Spec: tools.Spec{
			Name: "untrack_feed", Category: "watch", Effects: tools.Write,
			Description: "Stop following a feed, a page or a topic.",
			Keywords:    "rss feed blog news unsubscribe unfollow remove subscription topic untrack",
		},
		Summary: func(in untrackFeedIn) string {
			return fmt.Sprintf("Stop following %q", textnorm.Ellipsize(in.Feed, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in untrackFeedIn) (tools.Result, error) {
			s, err := f.findNewsSource(tx, in.Feed)
			if err != nil {
				return tools.Result{}, err
			}
			return f.cancelMatching(tx, s.ID)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoCancel(tx, data)
		},
	})
}

// findNewsSource finds a followed source by its name, its id, its address or its topic.
func (f watcherFamily) findNewsSource(q store.Querier, query string) (watchers.Spec, error) {
	list, err := f.livingMembers(q)
	if err != nil {
		return watchers.Spec{}, err
	}
	list = slices.DeleteFunc(list, func(s watchers.Spec) bool { return !isNewsKind(s.Kind) })
	for _, s := range list {
		if c, err := s.NewsSource(); err == nil && textnorm.EqualFolded(c.Address(), strings.TrimSpace(query)) {
			return s, nil
		}
	}
	s, err := tools.Pick("tracked feed", query, list, func(s watchers.Spec) (string, string) { return s.ID, s.Title })
	return s, tools.Quoting(err, sourceOf(list))
}
