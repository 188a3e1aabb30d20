package research

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/readability"
	"hob/platform/text/sorting"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type digestIn struct {
	Keywords []string `json:"keywords,omitempty" jsonschema:"show only entries with one of these words, in addition to the words of each feed"`
	Sources  []string `json:"sources,omitempty" jsonschema:"addresses of feeds or pages to read instead of the tracked ones, at most 10"`
	Days     int      `json:"days,omitempty" jsonschema:"how many days back, 1 to 90 (default 7)"`
	MaxItems int      `json:"max_items_per_feed,omitempty" jsonschema:"1 to 30 (default 8)"`
	Again    bool     `json:"again,omitempty" jsonschema:"also entries that an earlier digest has shown; default only with keywords, sources or days"`
}

// newsItem is an entry of a digest.
type newsItem struct {
	Title   string    `json:"title"`
	Link    string    `json:"link"`
	At      time.Time `json:"at,omitzero"` // zero if the source gives no date
	Summary string    `json:"summary,omitempty"`
	terms   []string
}

// feedDigest is what one source has.
type feedDigest struct {
	Name    string     `json:"name"`
	Source  string     `json:"source"` // address, or words of a search
	Kind    string     `json:"kind"`   // feed, page or search
	Items   []newsItem `json:"items"`
	More    int        `json:"more,omitempty"`    // entries beyond the limit
	Other   int        `json:"other,omitempty"`   // recent entries without the words
	Before  int        `json:"before,omitempty"`  // entries that an earlier digest has shown
	Problem string     `json:"problem,omitempty"` // why the source could not be read
	source  watchers.NewsSource
}

// digestOut is the Data of content_digest.
type digestOut struct {
	Since time.Time     `json:"since"`
	Feeds []*feedDigest `json:"feeds"`
}

const (
	maxFeeds      = 40
	maxDigestText = 12_000 // characters
)

func (d Deps) contentDigest() tools.Tool {
	return tools.New(tools.Def[digestIn]{
		Spec: tools.Spec{
			Name: "content_digest", Category: "web", Effects: tools.Egress, Timeout: 2 * time.Minute,
			Description: "Sum up what is new in the feeds, pages and topics that the user follows: titles, dates, links and short summaries, filtered by words.",
			Keywords:    "news digest feeds rss headlines blogs latest reading what is new summary followed tracked catch up",
		},
		Summary: func(in digestIn) string {
			if len(in.Sources) > 0 {
				return "Read " + textnorm.Ellipsize(strings.Join(in.Sources, ", "), 200) + " and sum up what is new"
			}
			return "Sum up what is new in the followed feeds"
		},
		Judge: func(_ context.Context, in digestIn) tools.CallAssessment { return d.assessDigest(in) },
		Run: func(ctx context.Context, c tools.Call, in digestIn) (tools.Result, error) {
			if j := d.assessDigest(in); j.Refused != nil {
				return tools.Result{}, j.Refused
			}
			return d.digestFeeds(ctx, c, in)
		},
	})
}

// assessDigest assesses a call. The followed sources were approved when the user began to follow
// them, so reading them again sends nothing that a model chose.
func (d Deps) assessDigest(in digestIn) tools.CallAssessment {
	switch {
	case in.Days < 0 || in.Days > 90:
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "days must be 1 to 90")}
	case in.MaxItems < 0 || in.MaxItems > 30:
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "max_items_per_feed must be 1 to 30")}
	case len(in.Sources) > 10:
		return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "sources has %d addresses; use at most 10", len(in.Sources))}
	case len(in.Sources) == 0:
		return tools.CallAssessment{Effects: tools.Read}
	}
	out := tools.CallAssessment{Effects: tools.Egress, Get: true}
	var hosts []string
	for _, s := range in.Sources {
		j := d.Web.AssessAddress(s)
		if j.Refused != nil {
			return j
		}
		out.URLs = append(out.URLs, j.URLs...)
		hosts = append(hosts, strings.TrimPrefix(j.Why, "contacts "))
		if len(in.Sources) == 1 {
			out.Pattern = j.Pattern
		}
	}
	slices.Sort(hosts)
	out.Why = "contacts " + strings.Join(slices.Compact(hosts), ", ")
	return out
}

func (d Deps) digestFeeds(ctx context.Context, c tools.Call, in digestIn) (tools.Result, error) {
	feeds, err := d.chooseFeeds(ctx, in.Sources)
	if err != nil {
		return tools.Result{}, err
	}
	if len(feeds) == 0 {
		return tools.Result{Source: provenance.Tool, Text: "You follow no feed, page or topic yet. Follow one with track_feed or track_topic.", Data: digestOut{Feeds: []*feedDigest{}}}, nil
	}
	since := c.Now.AddDate(0, 0, -cmp.Or(in.Days, 7))
	slots := make(chan struct{}, atOnce)
	var done sync.WaitGroup
	for _, f := range feeds {
		done.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			d.readFeed(ctx, f, since, in.Keywords)
		})
	}
	done.Wait()
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	dropRepeated(feeds)
	shown, err := d.loadShown(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	if !in.Again && len(in.Keywords) == 0 && len(in.Sources) == 0 && in.Days == 0 {
		shown.dropShown(feeds)
	}
	for _, f := range feeds {
		if limit := cmp.Or(in.MaxItems, 8); len(f.Items) > limit {
			f.More, f.Items = len(f.Items)-limit, f.Items[:limit]
		}
	}
	if err := d.saveShown(ctx, shown, feeds, c.Now); err != nil {
		return tools.Result{}, err
	}
	r := tools.Result{Text: renderDigest(feeds, in, c.Now), Data: digestOut{since, feeds}, Source: provenance.Outside}
	for _, f := range feeds {
		if f.Problem == "" {
			r.Origins = append(r.Origins, provenance.Origin{Kind: "web", Label: f.Source, Via: "content_digest"})
		}
		for _, x := range f.Items {
			r.Links = append(r.Links, linksOf([]*source{{URL: x.Link}})...)
		}
	}
	return r, nil
}

// chooseFeeds returns the given addresses or, if there are none, the sources that the user follows,
// newest first.
func (d Deps) chooseFeeds(ctx context.Context, addresses []string) (out []*feedDigest, err error) {
	for _, a := range addresses {
		out = append(out, &feedDigest{Name: a, Source: a, Kind: "feed", source: watchers.NewsSource{URL: a}})
	}
	if len(out) > 0 {
		return out, nil
	}
	list, err := d.Followed(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range list[:min(len(list), maxFeeds)] {
		n, err := s.NewsSource()
		if err != nil {
			return nil, err
		}
		out = append(out, &feedDigest{Name: s.Title, Source: n.Address(), Kind: s.Kind, source: n})
	}
	return out, nil
}

// readFeed reads one source. Entries without a date count as recent.
func (d Deps) readFeed(ctx context.Context, f *feedDigest, since time.Time, keywords []string) {
	ctx, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	f.Items = []newsItem{}
	var list []newsItem
	var err error
	switch f.Kind {
	case "feed":
		list, err = d.feedItems(ctx, f)
	case "search":
		list, err = d.searchItems(ctx, f.source.Query)
	default:
		list, err = d.pageItems(ctx, f, slices.Concat(keywords, f.source.Words))
	}
	if err != nil {
		f.Problem = textnorm.Ellipsize(readability.Squeeze(err.Error()), 200)
		return
	}
	wanted := watchers.Words(slices.DeleteFunc(slices.Clone(keywords), func(w string) bool { return strings.TrimSpace(w) == "" }))
	for _, x := range list {
		if !x.At.IsZero() && x.At.Before(since) || ordersMachine(x.Title) {
			continue
		}
		text := x.Title + "\n" + x.Summary
		if !matchesWords(wanted, text) || !matchesWords(f.source.Words, text) || f.source.Except.MatchesText(text) {
			f.Other++
			continue
		}
		if x.Summary = shortenSummary(x); ordersMachine(x.Summary) {
			x.Summary = ""
		}
		x.terms = summary.Terms(x.Title, "")
		f.Items = append(f.Items, x)
	}
	sorting.StableByFunc(f.Items, func(a, b newsItem) int { return b.At.Compare(a.At) })
}

func matchesWords(w watchers.Words, text string) bool { return len(w) == 0 || w.MatchesText(text) }

// feedItems reads a feed. An address in the arguments may also be a page.
func (d Deps) feedItems(ctx context.Context, f *feedDigest) (out []newsItem, err error) {
	items, title, err := d.Web.ReadFeed(ctx, f.source.URL)
	if err != nil {
		if tools.CodeOf(err) == tools.Unsupported && f.Name == f.Source {
			f.Kind = "page"
			return d.pageItems(ctx, f, nil)
		}
		return nil, err
	}
	if f.Name == f.Source && title != "" {
		f.Name = readability.CutRunes(title, 100)
	}
	for _, it := range items {
		out = append(out, newsItem{Title: readability.Squeeze(it.Title), Link: it.Link, At: it.At, Summary: readability.Squeeze(it.Summary)})
	}
	return out, nil
}

func (d Deps) searchItems(ctx context.Context, query string) (out []newsItem, err error) {
	found, err := d.Web.Find(ctx, query, 15)
	for _, r := range found {
		out = append(out, newsItem{Title: r.Title, Link: r.URL, Summary: r.Snippet})
	}
	return out, err
}

// pageItems sums up a page as one entry, with the sentences that have the words.
func (d Deps) pageItems(ctx context.Context, f *feedDigest, words []string) ([]newsItem, error) {
	s, a, err := d.readArticle(ctx, f.source.URL)
	if err != nil {
		return nil, err
	}
	if f.Name == f.Source && s.Title != "" {
		f.Name = readability.CutRunes(s.Title, 100)
	}
	sum := summary.Extract(a.Text, summary.Options{Title: a.Title, Focus: strings.Join(words, " "), Chars: 300, Skip: ordersMachine})
	return []newsItem{{Title: cmp.Or(s.Title, s.URL), Link: s.URL, At: parsePageDate(a.Date), Summary: readability.Squeeze(sum.Text())}}, nil
}

// parsePageDate reads the date that a page declares, or returns the zero time.
func parsePageDate(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", time.DateOnly} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return t
		}
	}
	return time.Time{}
}

// shortenSummary returns the beginning of an entry's text, or "" if it only repeats the title.
func shortenSummary(x newsItem) string {
	if x.Summary == "" || summary.Similarity(summary.Terms(x.Title, ""), summary.Terms(x.Summary, "")) > 0.8 {
		return ""
	}
	return readability.CutRunes(x.Summary, 220)
}

// dropRepeated removes entries that another source has too: the same address, or nearly the same
// title.
func dropRepeated(feeds []*feedDigest) {
	links := map[string]bool{}
	var titles [][]string
	for _, f := range feeds {
		f.Items = slices.DeleteFunc(f.Items, func(x newsItem) bool {
			key := addressKey(x.Link)
			if key != "" && links[key] || len(x.terms) >= 4 && slices.ContainsFunc(titles, func(t []string) bool { return summary.Similarity(t, x.terms) > 0.9 }) {
				return true
			}
			links[key] = true
			titles = append(titles, x.terms)
			return false
		})
	}
}

// addressKey returns an address without its scheme, fragment and final slash.
func addressKey(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	u.Fragment, u.Scheme = "", ""
	return strings.TrimSuffix(u.String(), "/")
}

func renderDigest(feeds []*feedDigest, in digestIn, now time.Time) string {
	var b, failed strings.Builder
	n, other, before := 0, 0, 0
	for _, f := range feeds {
		n, other, before = n+len(f.Items), other+f.Other, before+f.Before
		if f.Problem != "" {
			fmt.Fprintf(&failed, "\nNot read: %s (%s)", textnorm.Ellipsize(f.Name, 80), f.Problem)
		}
	}
	about, fresh := "", ""
	if before > 0 {
		fresh = "new "
	}
	if len(in.Keywords) > 0 {
		about = " about " + watchers.Words(in.Keywords).List()
	}
	fmt.Fprintf(&b, "%s%s from the last %s in %s:\n", textnorm.CountNoun(n, fresh+"entry", fresh+"entries"), about, textnorm.CountNoun(cmp.Or(in.Days, 7), "day", "days"), textnorm.CountNoun(len(feeds), "source", "sources"))
	for _, f := range feeds {
		if len(f.Items) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", textnorm.Ellipsize(f.Name, 100))
		for _, x := range f.Items {
			if b.Len() > maxDigestText {
				b.WriteString("- (the rest is in the data of the result)\n")
				break
			}
			b.WriteString("- " + readability.CutRunes(x.Title, 200))
			if !x.At.IsZero() {
				b.WriteString(" (" + dateparse.FormatDay(x.At.In(now.Location()), now) + ")")
			}
			b.WriteString("\n  " + x.Link + "\n")
			if x.Summary != "" {
				b.WriteString("  " + x.Summary + "\n")
			}
		}
		if f.More > 0 {
			fmt.Fprintf(&b, "- and %d more\n", f.More)
		}
	}
	if n == 0 && other > 0 {
		fmt.Fprintf(&b, "\n%s without these words.\n", textnorm.CountNoun(other, "entry is", "entries are"))
	}
	if before > 0 {
		fmt.Fprintf(&b, "\n%s of an earlier digest left out.\n", textnorm.CountNoun(before, "entry", "entries"))
	}
	b.WriteString(failed.String())
	return strings.TrimRight(b.String(), "\n")
}
