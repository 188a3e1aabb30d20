// Package research provides tools that read several pages and compare them: summarize_article,
// content_digest, fact_check, research_topic, compile_report and search_papers.
//
// The tools search, fetch, extract, rank, quote and cite by fixed rules. They call no model: a
// result contains only sentences of the pages, with their addresses, and counts. All of it is
// untrusted text.
package research

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/store"
	feeds "hob/platform/text/feed"
	"hob/platform/text/injection"
	"hob/platform/text/readability"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/tools/web"
	"hob/watchers"
)

// Web reads pages and searches; web.Deps implements it.
type Web interface {
	ReadArticle(ctx context.Context, address string) (web.Article, error)
	FetchData(ctx context.Context, address, accept string) ([]byte, error)
	ReadFeed(ctx context.Context, address string) (items []feeds.Item, title string, err error)
	Find(ctx context.Context, query string, limit int) ([]web.Result, error)
	AssessAddress(address string) tools.CallAssessment
	DisplayAddress(address string) string
	SearchLabel() string
}

// Notes keeps what was found as notes of the user.
type Notes interface {
	// AddNoteTx stores a note with the provenance Outside.
	AddNoteTx(tx *store.Tx, c tools.Call, title, text string) (id string, undo *tools.Undo, err error)
	UndoNoteTx(tx *store.Tx, data json.RawMessage) (string, error)
	// FindNotes returns the notes that match a text, best first.
	FindNotes(ctx context.Context, text string, limit int) ([]api.Note, error)
}

// Deps are the dependencies of the tools. All of them except Print are required.
type Deps struct {
	Web   Web
	Notes Notes
	// Followed returns the watchers of the feeds, pages and topics that the user follows.
	Followed func(ctx context.Context) ([]watchers.Spec, error)
	Reports  Reports
	// Shown stores which entries content_digest has shown. If it is nil, each digest shows all.
	Shown StateStore
	// Print converts an HTML document to PDF. It is nil if there is no browser.
	Print func(ctx context.Context, document string) ([]byte, error)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	return []tools.Tool{d.summarizeArticle(), d.contentDigest(), d.factCheck(), d.researchTopic(), d.compileReport(), d.searchPapers()}
}

// Limits of reading several pages.
const (
	pageWait  = 20 * time.Second // for one page
	atOnce    = 4                // pages that are fetched at the same time
	perHost   = 2                // pages of one host
	maxQuoted = 420              // characters of a quotation
	maxTopic  = 400              // characters; the limit of the search services
)

// source is a page that was read, or could not be read.
type source struct {
	N         int    `json:"n"` // number in citations, from 1
	URL       string `json:"url"`
	Title     string `json:"title,omitempty"`
	Date      string `json:"date,omitempty"`
	Language  string `json:"language,omitempty"`
	Paywall   bool   `json:"paywall,omitempty"`  // only the free part was read
	Snippet   bool   `json:"snippet,omitempty"`  // the page could not be read; its text is the search result
	Abstract  bool   `json:"abstract,omitempty"` // a scientific paper, of which the abstract was read
	LeftOut   int    `json:"left_out,omitempty"` // sentences that give orders to an assistant
	Problem   string `json:"problem,omitempty"`  // why the page could not be read
	sentences []summary.Sentence
}

func (s *source) hostName() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.URL
	}
	return strings.TrimPrefix(u.Host, "www.")
}

// readArticle reads one page as a source. Sentences that address a machine are left out.
func (d Deps) readArticle(ctx context.Context, address string) (*source, web.Article, error) {
	ctx, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	a, err := d.Web.ReadArticle(ctx, address)
	if err != nil {
		return nil, a, err
	}
	s := &source{URL: a.URL, Title: readability.CutRunes(readability.Squeeze(a.Title), 200), Date: a.Date, Language: a.Language, Paywall: isPaywalled(a)}
	for _, x := range summary.Split(a.Text) {
		switch {
		case x.Fragment || summary.IsBoilerplate(x.Text):
		case ordersMachine(x.Text):
			s.LeftOut++
		default:
			s.sentences = append(s.sentences, x)
		}
	}
	return s, a, nil
}

// ordersMachine reports whether a sentence has signs of a prompt injection. Such a sentence is never
// part of a summary and never evidence. This protects the quality of a result, not the user: all
// results are untrusted anyway.
func ordersMachine(sentence string) bool { return len(injection.Scan(sentence)) > 0 }

// paywallWords are phrases of pages that show only the beginning of a text.
var paywallWords = []string{"subscribe to continue", "subscribe to read", "already a subscriber", "log in to read", "sign in to read", "register to read", "to continue reading", "log in to continue", "this article is for subscribers", "unlock this article", "weiterlesen mit", "nur für abonnenten", "réservé aux abonnés"}

func isPaywalled(a web.Article) bool {
	if a.Paywall {
		return true
	}
	lower := strings.ToLower(a.Text)
	return len(lower) < 6000 && slices.ContainsFunc(paywallWords, func(w string) bool { return strings.Contains(lower, w) })
}

// readResults searches with each query and reads the best results, at most limit pages. It returns the
// sources in the order of their rank; pages that could not be read follow with their problems. It
// fails only if no search succeeded.
func (d Deps) readResults(ctx context.Context, c tools.Call, queries []string, limit int) (read, unread []*source, err error) {
	found, err := d.searchAll(ctx, queries, limit)
	if err != nil {
		return nil, nil, err
	}
	list := make([]*source, len(found))
	slots := make(chan struct{}, atOnce)
	var done sync.WaitGroup
	for i, r := range found {
		done.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			list[i] = d.readResult(ctx, r)
			c.Progress(-1, fmt.Sprintf("read page %d of %d", i+1, len(found)))
		})
	}
	done.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, s := range list {
		switch {
		case seen[s.URL]: // two results led to the same page
		case len(s.sentences) == 0:
			unread = append(unread, s)
		default:
			read = append(read, s)
			s.N = len(read)
		}
		seen[s.URL] = true
	}
	return read, unread, nil
}

// readResult reads the page of a search result. If that fails, the text of the result remains.
func (d Deps) readResult(ctx context.Context, r web.Result) *source {
	s, _, err := d.readArticle(ctx, r.URL)
	if err == nil {
		if s.Title == "" {
			s.Title = r.Title
		}
		if len(s.sentences) == 0 {
			s.Problem = "it has no text; it may need a browser"
		}
		return s
	}
	s = &source{URL: r.URL, Title: r.Title, Snippet: true, Problem: textnorm.Ellipsize(readability.Squeeze(err.Error()), 160)}
	for _, x := range summary.Split(r.Snippet) {
		if !x.Fragment && !summary.IsBoilerplate(x.Text) && !ordersMachine(x.Text) && !strings.HasSuffix(x.Text, "…") && !strings.HasSuffix(x.Text, "...") {
			s.sentences = append(s.sentences, x)
		}
	}
	return s
}

// searchAll runs the queries one after another and merges their results by rank.
func (d Deps) searchAll(ctx context.Context, queries []string, limit int) (out []web.Result, err error) {
	var lists [][]web.Result
	var failed error
	for _, q := range queries {
		list, err := d.Web.Find(ctx, readability.CutRunes(q, maxTopic-1), min(20, max(limit, 5)))
		if err != nil {
			failed = err
			continue
		}
		lists = append(lists, list)
	}
	if len(lists) == 0 {
		return nil, failed
	}
	hosts, known := map[string]int{}, map[string]bool{}
	for rank := 0; rank < 20 && len(out) < limit; rank++ {
		for _, list := range lists {
			if rank >= len(list) || len(out) == limit || known[list[rank].URL] {
				continue
			}
			r := list[rank]
			host := (&source{URL: r.URL}).hostName()
			known[r.URL] = true
			if hosts[host]++; hosts[host] > perHost && !isSingleHost(lists) {
				continue
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// isSingleHost reports whether all results have the same host, as those of a search within a site.
func isSingleHost(lists [][]web.Result) bool {
	first := ""
	for _, list := range lists {
		for _, r := range list {
			h := (&source{URL: r.URL}).hostName()
			if first != "" && h != first {
				return false
			}
			first = h
		}
	}
	return true
}

// assessSearch assesses a call that searches for words and reads the results unchanged.
func (d Deps) assessSearch(query string, effects tools.Effects) tools.CallAssessment {
	return tools.CallAssessment{Effects: effects, Query: query, Why: "asks " + d.Web.SearchLabel() + " and opens pages that it finds"}
}

// requireText checks an argument that is searched for.
func requireText(name, s string) error {
	s = readability.Squeeze(s)
	switch n := len([]rune(s)); {
	case n == 0:
		return tools.Errorf(tools.InvalidArguments, "%s is empty", tools.Clean(name))
	case n > maxTopic:
		return tools.Errorf(tools.InvalidArguments, "%s has %d characters; use at most %d", tools.Clean(name), n, maxTopic)
	}
	return nil
}

// quoteSentence formats a quotation of limited length.
func quoteSentence(s string) string {
	return "“" + readability.CutRunes(readability.Squeeze(s), maxQuoted) + "”"
}

// formatSources lists the sources with their numbers and addresses, and the pages that could not be
// read.
func formatSources(read, unread []*source) string {
	var b strings.Builder
	b.WriteString("Sources:\n")
	for _, s := range read {
		fmt.Fprintf(&b, "[%d] %s\n", s.N, s.describeSource())
	}
	for _, s := range unread {
		fmt.Fprintf(&b, "- not read: %s (%s)\n", s.URL, s.Problem)
	}
	return strings.TrimRight(b.String(), "\n")
}

// describeSource formats the title, the date, the address and the remarks of a source.
func (s *source) describeSource() string {
	var b strings.Builder
	if s.Title != "" {
		b.WriteString(s.Title + ", ")
	}
	if s.Date != "" {
		b.WriteString(readability.CutRunes(s.Date, 10) + ", ")
	}
	b.WriteString(s.URL)
	var more []string
	if s.Snippet {
		more = append(more, "only the search result was read: "+s.Problem)
	}
	if s.Abstract {
		more = append(more, "paper, only the abstract was read")
	}
	if s.Paywall {
		more = append(more, "behind a paywall, only the free part was read")
	}
	if s.LeftOut > 0 {
		more = append(more, textnorm.CountNoun(s.LeftOut, "sentence that gives", "sentences that give")+" orders to an assistant left out")
	}
	if len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, "; ") + ")")
	}
	return b.String()
}

// originsOf returns the origins of a result's text.
func originsOf(tool string, list []*source) (out []provenance.Origin) {
	for _, s := range list {
		out = append(out, provenance.Origin{Kind: "web", Label: s.URL, Via: tool})
	}
	return out
}

// linksOf returns the public addresses of sources.
func linksOf(lists ...[]*source) (out []string) {
	for _, list := range lists {
		for _, s := range list {
			if u, err := safehttp.Canonical(s.URL); err == nil {
				out = append(out, u.String())
			}
		}
	}
	return out
}
