package research

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/readability"
	"hob/platform/text/sorting"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type papersIn struct {
	Query     string   `json:"query" jsonschema:"words of the title or the abstract"`
	Services  []string `json:"services,omitempty" jsonschema:"arxiv, semantic_scholar, crossref, pubmed; default all"`
	SinceYear int      `json:"since_year,omitempty" jsonschema:"only papers of this year or later"`
	Limit     int      `json:"limit,omitempty" jsonschema:"1 to 30 (default 10)"`
}

// Paper is a scientific paper in a search result. Its texts are untrusted.
type Paper struct {
	Title    string   `json:"title"`
	Authors  []string `json:"authors,omitempty"`
	Year     int      `json:"year,omitempty"` // 0 if unknown
	Journal  string   `json:"journal,omitempty"`
	Abstract string   `json:"abstract,omitempty"`
	DOI      string   `json:"doi,omitempty"`
	URL      string   `json:"url"`
	PDF      string   `json:"pdf,omitempty"`
	Cited    int      `json:"cited,omitempty"` // citations, by the service with the highest count
	Services []string `json:"services"`
	rank     int      // best rank in a service, from 0
}

// papersOut is the Data of search_papers.
type papersOut struct {
	Query    string            `json:"query"`
	Papers   []*Paper          `json:"papers"`
	NotAsked map[string]string `json:"not_asked,omitempty"` // service -> why it gave no answer
}

// paperService is a search API for papers.
type paperService struct {
	name, label string
	search      func(ctx context.Context, d Deps, query string, limit int) ([]*Paper, error)
}

// paperServices lists the services in the order of display.
func paperServices() []paperService {
	return []paperService{{"arxiv", "arXiv", searchArxiv}, {"semantic_scholar", "Semantic Scholar", searchScholar}, {"crossref", "Crossref", searchCrossref}, {"pubmed", "PubMed", searchPubMed}}
}

func (d Deps) searchPapers() tools.Tool {
	return tools.New(tools.Def[papersIn]{
		Spec: tools.Spec{
			Name: "search_papers", Category: "web", Effects: tools.Egress, Timeout: 90 * time.Second,
			Description: "Search scientific papers in arXiv, Semantic Scholar, Crossref and PubMed: titles, authors, years, abstracts, DOIs and PDF addresses. Read a PDF with summarize_article or browse_url.",
			Keywords:    "paper papers study studies science scientific article journal arxiv pubmed crossref doi literature preprint citation academic scholar",
		},
		Summary: func(in papersIn) string {
			return "Search papers for " + strconv.Quote(textnorm.Ellipsize(in.Query, 160))
		},
		Judge: func(_ context.Context, in papersIn) tools.CallAssessment {
			list, err := in.chooseServices()
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return tools.CallAssessment{Effects: tools.Egress, Query: readability.Squeeze(in.Query), Why: "asks " + labelServices(list)}
		},
		Run: func(ctx context.Context, c tools.Call, in papersIn) (tools.Result, error) {
			list, err := in.chooseServices()
			if err != nil {
				return tools.Result{}, err
			}
			return d.findPapers(ctx, in, list)
		},
	})
}

// chooseServices checks the arguments and returns the services to ask.
func (in papersIn) chooseServices() (out []paperService, err error) {
	if err := requireText("query", in.Query); err != nil {
		return nil, err
	}
	switch {
	case in.Limit < 0 || in.Limit > 30:
		return nil, tools.Errorf(tools.InvalidArguments, "limit must be 1 to 30")
	case in.SinceYear < 0 || in.SinceYear > 2200:
		return nil, tools.Errorf(tools.InvalidArguments, "since_year must be a year")
	}
	all := paperServices()
	if len(in.Services) == 0 {
		return all, nil
	}
	for _, name := range in.Services {
		i := slices.IndexFunc(all, func(s paperService) bool {
			return textnorm.EqualFolded(s.name, name) || textnorm.EqualFolded(s.label, name)
		})
		if i < 0 {
			return nil, tools.Errorf(tools.InvalidArguments, "services has %q; use arxiv, semantic_scholar, crossref and pubmed", tools.Clean(textnorm.Ellipsize(name, 40)))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func (d Deps) findPapers(ctx context.Context, in papersIn, list []paperService) (tools.Result, error) {
	out, err := d.collectPapers(ctx, in, list)
	if err != nil {
		return tools.Result{}, err
	}
	r := tools.Result{Text: out.renderText(), Data: out, Source: provenance.Outside}
	for _, p := range out.Papers {
		r.Links = append(r.Links, linksOf([]*source{{URL: p.URL}, {URL: p.PDF}})...)
		r.Origins = append(r.Origins, provenance.Origin{Kind: "web", Label: p.URL, Via: "search_papers"})
	}
	return r, nil
}

// collectPapers asks the services and merges their papers, best first. It returns an error if no
// service answered.
func (d Deps) collectPapers(ctx context.Context, in papersIn, list []paperService) (papersOut, error) {
	query, limit := readability.Squeeze(in.Query), cmp.Or(in.Limit, 10)
	found, failed := make([][]*Paper, len(list)), make([]error, len(list))
	var done sync.WaitGroup
	for i, s := range list {
		done.Go(func() {
			step, cancel := context.WithTimeout(ctx, 2*pageWait)
			defer cancel()
			found[i], failed[i] = s.search(step, d, query, min(30, 2*limit))
		})
	}
	done.Wait()
	out := papersOut{Query: query, Papers: []*Paper{}}
	var last error
	for i, s := range list {
		if failed[i] != nil {
			if out.NotAsked == nil {
				out.NotAsked = map[string]string{}
			}
			out.NotAsked[s.label], last = textnorm.Ellipsize(readability.Squeeze(failed[i].Error()), 160), failed[i]
			continue
		}
		for rank, p := range found[i] {
			p.rank, p.Services = rank, []string{s.label}
			if p.Title == "" || p.URL == "" || in.SinceYear > 0 && p.Year < in.SinceYear || ordersMachine(p.Title) {
				continue
			}
			p.Abstract = cleanAbstract(p.Abstract)
			out.Papers = mergePaper(out.Papers, p)
		}
	}
	if len(out.NotAsked) == len(list) {
		return out, last
	}
	terms := summary.Terms(query, "")
	sorting.StableByFunc(out.Papers, func(a, b *Paper) int { return cmp.Compare(b.ratePaper(terms), a.ratePaper(terms)) })
	out.Papers = out.Papers[:min(len(out.Papers), limit)]
	return out, nil
}

// maxAbstract limits an abstract, in characters.
const maxAbstract = 2500

// cleanAbstract removes markup, and sentences that give orders to an assistant.
func cleanAbstract(s string) string {
	var keep []string
	for _, x := range summary.Split(readability.Squeeze(readability.Words(s))) {
		if !ordersMachine(x.Text) {
			keep = append(keep, x.Text)
		}
	}
	return readability.CutRunes(strings.Join(keep, " "), maxAbstract)
}

// mergePaper adds a paper to a list, or its data to the same paper of another service.
func mergePaper(list []*Paper, p *Paper) []*Paper {
	terms := summary.Terms(p.Title, "")
	for _, x := range list {
		same := p.DOI != "" && strings.EqualFold(x.DOI, p.DOI)
		if !same && (x.DOI == "" || p.DOI == "" || x.Year == p.Year) {
			same = len(terms) >= 3 && summary.Similarity(terms, summary.Terms(x.Title, "")) > 0.92
		}
		if !same {
			continue
		}
		x.Abstract, x.DOI, x.PDF, x.Journal = cmp.Or(x.Abstract, p.Abstract), cmp.Or(x.DOI, p.DOI), cmp.Or(x.PDF, p.PDF), cmp.Or(x.Journal, p.Journal)
		x.Year, x.Cited, x.rank = cmp.Or(x.Year, p.Year), max(x.Cited, p.Cited), min(x.rank, p.rank)
		if len(x.Authors) == 0 {
			x.Authors = p.Authors
		}
		x.Services = append(x.Services, p.Services...)
		return list
	}
	return append(list, p)
}

// ratePaper rates a paper: words of the query in the title and abstract, rank, number of services
// and citations.
func (p *Paper) ratePaper(query []string) float64 {
	title, abstract := summary.Terms(p.Title, ""), summary.Terms(p.Abstract, "")
	v := 0.0
	for _, t := range query {
		switch {
		case slices.Contains(title, t):
			v += 2
		case slices.Contains(abstract, t):
			v++
		}
	}
	return v/float64(max(1, len(query))) + 0.5*float64(len(p.Services)-1) - 0.04*float64(p.rank) + 0.1*math.Log1p(float64(p.Cited))
}

func (o papersOut) renderText() string {
	var b strings.Builder
	if len(o.Papers) == 0 {
		fmt.Fprintf(&b, "No paper was found for %q.\n", o.Query)
	} else {
		fmt.Fprintf(&b, "%s about %q:\n", textnorm.CountNoun(len(o.Papers), "paper", "papers"), o.Query)
	}
	for i, p := range o.Papers {
		fmt.Fprintf(&b, "\n%d. %s", i+1, p.Title)
		if p.Year > 0 {
			fmt.Fprintf(&b, " (%d)", p.Year)
		}
		b.WriteByte('\n')
		if who := p.describeOrigin(); who != "" {
			b.WriteString("   " + who + "\n")
		}
		if short := readability.CutRunes(p.Abstract, 280); short != "" {
			b.WriteString("   " + short + "\n")
		}
		b.WriteString("   " + p.URL + "\n")
		if p.PDF != "" && p.PDF != p.URL {
			b.WriteString("   PDF: " + p.PDF + "\n")
		}
	}
	b.WriteString(describeNotAsked(o.NotAsked))
	return strings.TrimRight(b.String(), "\n")
}

// describeNotAsked names the services that gave no answer.
func describeNotAsked(list map[string]string) string {
	var b strings.Builder
	for _, s := range paperServices() {
		if why, ok := list[s.label]; ok {
			fmt.Fprintf(&b, "\n%s gave no answer: %s", s.label, why)
		}
	}
	return b.String()
}

// describeOrigin formats the authors, the journal and the number of citations.
func (p *Paper) describeOrigin() string {
	var parts []string
	switch n := len(p.Authors); {
	case n > 3:
		parts = append(parts, p.Authors[0]+" and others")
	case n > 0:
		parts = append(parts, strings.Join(p.Authors, ", "))
	}
	if p.Journal != "" {
		parts = append(parts, p.Journal)
	}
	if p.Cited > 0 {
		parts = append(parts, "cited "+textnorm.CountNoun(p.Cited, "time", "times"))
	}
	return strings.Join(parts, "; ")
}

// doiAddress returns the address of a DOI, or "".
func doiAddress(doi string) string {
	if doi == "" {
		return ""
	}
	return "https://doi.org/" + (&url.URL{Path: doi}).EscapedPath()
}
