package research

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"

	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/readability"
	"hob/tools"
)

// invalidAnswer returns the error for a response that does not match a service's documentation. It must
// not look like an empty result.
func invalidAnswer(service string, err error) error {
	return &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: service + " sent an invalid response", Remedy: "try again later", Err: err}
}

// publicAddress returns the canonical form of a public address, or "".
func publicAddress(raw string) string {
	u, err := safehttp.Canonical(strings.TrimSpace(raw))
	if err != nil {
		return ""
	}
	return u.String()
}

func cleanTitle(s string) string {
	return readability.CutRunes(readability.Squeeze(readability.Words(s)), 300)
}

var fourDigits = lazyregexp.New(`\b(1[89]|20|21)\d\d\b`)

func yearIn(s string) int {
	n, _ := strconv.Atoi(fourDigits.FindString(s))
	return n
}

// searchArxiv: info.arxiv.org/help/api/user-manual.html
func searchArxiv(ctx context.Context, d Deps, query string, limit int) (out []*Paper, err error) {
	var words []string
	for w := range strings.FieldsSeq(strings.Map(letterOrSpace, query)) {
		words = append(words, "all:"+w)
	}
	q := url.Values{"search_query": {strings.Join(words, " AND ")}, "start": {"0"}, "max_results": {strconv.Itoa(limit)}}
	body, err := d.Web.FetchData(ctx, "https://export.arxiv.org/api/query?"+q.Encode(), "application/atom+xml")
	if err != nil {
		return nil, err
	}
	var feed struct {
		XMLName xml.Name `xml:"feed"`
		Entries []struct {
			ID        string `xml:"id"`
			Title     string `xml:"title"`
			Summary   string `xml:"summary"`
			Published string `xml:"published"`
			DOI       string `xml:"doi"`
			Authors   []struct {
				Name string `xml:"name"`
			} `xml:"author"`
			Links []struct {
				Href  string `xml:"href,attr"`
				Title string `xml:"title,attr"`
			} `xml:"link"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(body, &feed); err != nil {
		return nil, invalidAnswer("arXiv", err)
	}
	for _, e := range feed.Entries {
		if strings.Contains(e.ID, "/api/errors") {
			return nil, invalidAnswer("arXiv", nil)
		}
		p := &Paper{Title: cleanTitle(e.Title), Abstract: e.Summary, Year: yearIn(e.Published), DOI: e.DOI, URL: publicAddress(strings.Replace(e.ID, "http://", "https://", 1)), Journal: "arXiv"}
		for _, a := range e.Authors {
			p.Authors = append(p.Authors, cleanTitle(a.Name))
		}
		for _, l := range e.Links {
			if l.Title == "pdf" {
				p.PDF = publicAddress(strings.Replace(l.Href, "http://", "https://", 1))
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// letterOrSpace replaces the operators of arXiv's query language.
func letterOrSpace(r rune) rune {
	if strings.ContainsRune(`:"()[]{}+-&|!^~*?\/,;.`, r) {
		return ' '
	}
	return r
}

// searchScholar: api.semanticscholar.org/api-docs/graph
func searchScholar(ctx context.Context, d Deps, query string, limit int) (out []*Paper, err error) {
	q := url.Values{"query": {query}, "limit": {strconv.Itoa(limit)}, "fields": {"title,abstract,year,authors,externalIds,url,openAccessPdf,citationCount,venue"}}
	body, err := d.Web.FetchData(ctx, "https://api.semanticscholar.org/graph/v1/paper/search?"+q.Encode(), "application/json")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Total *int
		Data  []struct {
			Title, Abstract, URL, Venue string
			Year, CitationCount         int
			Authors                     []struct{ Name string }
			ExternalIDs                 map[string]any `json:"externalIds"`
			OpenAccessPDF               *struct{ URL string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Total == nil {
		return nil, invalidAnswer("Semantic Scholar", err)
	}
	for _, x := range answer.Data {
		doi, _ := x.ExternalIDs["DOI"].(string)
		p := &Paper{Title: cleanTitle(x.Title), Abstract: x.Abstract, Year: x.Year, Journal: cleanTitle(x.Venue), DOI: doi, Cited: x.CitationCount, URL: cmp.Or(publicAddress(x.URL), publicAddress(doiAddress(doi)))}
		for _, a := range x.Authors {
			p.Authors = append(p.Authors, cleanTitle(a.Name))
		}
		if x.OpenAccessPDF != nil {
			p.PDF = publicAddress(x.OpenAccessPDF.URL)
		}
		out = append(out, p)
	}
	return out, nil
}

// searchCrossref: api.crossref.org/swagger-ui
func searchCrossref(ctx context.Context, d Deps, query string, limit int) (out []*Paper, err error) {
	q := url.Values{"query": {query}, "rows": {strconv.Itoa(limit)}, "select": {"title,author,issued,DOI,URL,abstract,container-title,is-referenced-by-count"}}
	body, err := d.Web.FetchData(ctx, "https://api.crossref.org/works?"+q.Encode(), "application/json")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status  string
		Message struct {
			Items []struct {
				Title     []string
				Container []string `json:"container-title"`
				Author    []struct{ Given, Family, Name string }
				Issued    struct {
					Parts [][]*int `json:"date-parts"`
				}
				DOI, URL, Abstract string
				Cited              int `json:"is-referenced-by-count"`
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "ok" {
		return nil, invalidAnswer("Crossref", err)
	}
	for _, x := range answer.Message.Items {
		p := &Paper{Title: cleanTitle(strings.Join(x.Title, " ")), Abstract: x.Abstract, DOI: x.DOI, Journal: cleanTitle(strings.Join(x.Container, " ")), Cited: x.Cited, URL: cmp.Or(publicAddress(doiAddress(x.DOI)), publicAddress(x.URL))}
		if len(x.Issued.Parts) > 0 && len(x.Issued.Parts[0]) > 0 && x.Issued.Parts[0][0] != nil {
			p.Year = *x.Issued.Parts[0][0]
		}
		for _, a := range x.Author {
			p.Authors = append(p.Authors, cleanTitle(cmp.Or(strings.TrimSpace(a.Given+" "+a.Family), a.Name)))
		}
		out = append(out, p)
	}
	return out, nil
}

// searchPubMed: www.ncbi.nlm.nih.gov/books/NBK25499 (ESearch finds ids, EFetch returns the records)
func searchPubMed(ctx context.Context, d Deps, query string, limit int) (out []*Paper, err error) {
	const base = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/"
	q := url.Values{"db": {"pubmed"}, "term": {query}, "retmode": {"json"}, "retmax": {strconv.Itoa(limit)}, "sort": {"relevance"}}
	body, err := d.Web.FetchData(ctx, base+"esearch.fcgi?"+q.Encode(), "application/json")
	if err != nil {
		return nil, err
	}
	var ids struct {
		Result *struct {
			IDs []string `json:"idlist"`
		} `json:"esearchresult"`
	}
	if err := json.Unmarshal(body, &ids); err != nil || ids.Result == nil {
		return nil, invalidAnswer("PubMed", err)
	}
	if len(ids.Result.IDs) == 0 {
		return nil, nil
	}
	q = url.Values{"db": {"pubmed"}, "id": {strings.Join(ids.Result.IDs, ",")}, "retmode": {"xml"}}
	if body, err = d.Web.FetchData(ctx, base+"efetch.fcgi?"+q.Encode(), "application/xml"); err != nil {
		return nil, err
	}
	return parsePubMed(body)
}

// innerXML is text that may contain markup.
type innerXML struct {
	Text string `xml:",innerxml"`
}

func parsePubMed(body []byte) (out []*Paper, err error) {
	var set struct {
		XMLName  xml.Name `xml:"PubmedArticleSet"`
		Articles []struct {
			ID       string     `xml:"MedlineCitation>PMID"`
			Title    innerXML   `xml:"MedlineCitation>Article>ArticleTitle"`
			Abstract []innerXML `xml:"MedlineCitation>Article>Abstract>AbstractText"`
			Journal  string     `xml:"MedlineCitation>Article>Journal>Title"`
			Year     string     `xml:"MedlineCitation>Article>Journal>JournalIssue>PubDate>Year"`
			Date     string     `xml:"MedlineCitation>Article>Journal>JournalIssue>PubDate>MedlineDate"`
			Authors  []struct {
				Last string `xml:"LastName"`
				Fore string `xml:"ForeName"`
			} `xml:"MedlineCitation>Article>AuthorList>Author"`
			IDs []struct {
				Type  string `xml:"IdType,attr"`
				Value string `xml:",chardata"`
			} `xml:"PubmedData>ArticleIdList>ArticleId"`
		} `xml:"PubmedArticle"`
	}
	if err := xml.Unmarshal(body, &set); err != nil {
		return nil, invalidAnswer("PubMed", err)
	}
	for _, a := range set.Articles {
		p := &Paper{Title: cleanTitle(a.Title.Text), Journal: cleanTitle(a.Journal), Year: yearIn(a.Year + " " + a.Date), URL: publicAddress("https://pubmed.ncbi.nlm.nih.gov/" + url.PathEscape(strings.TrimSpace(a.ID)) + "/")}
		for _, t := range a.Abstract {
			p.Abstract = strings.TrimSpace(p.Abstract + " " + t.Text)
		}
		for _, x := range a.Authors {
			p.Authors = append(p.Authors, cleanTitle(strings.TrimSpace(x.Fore+" "+x.Last)))
		}
		for _, id := range a.IDs {
			switch id.Type {
			case "doi":
				p.DOI = id.Value
			case "pmc":
				p.PDF = publicAddress("https://pmc.ncbi.nlm.nih.gov/articles/" + url.PathEscape(id.Value) + "/pdf/")
			}
		}
		out = append(out, p)
	}
	return out, nil
}
