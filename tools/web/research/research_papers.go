package research

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/summary"
	"hob/tools"
)

// scientific matches topics for which a research also reads scientific papers.
var scientific = lazyregexp.New(`(?i)\b((stud(y|ies)|research|science|scientists?|papers|literature) (says?|shows?|finds?|found)|stud(y|ies)|scientific(ally)?|science|scientists?|peer.reviewed|clinical|meta.?analys[ei]s|randomi[sz]ed|trials?|papers?|preprints?|arxiv|pubmed|literature|efficacy|(side )?effects? of|evidence (for|that|on)|research (on|into|about)|studien?|wissenschaft\w*|forschung|scientifiques?|recherches? sur|cient[ií]fic[oa]s?|estudios?)\b`)

// paperCounts is the number of papers that a research reads, by depth.
var paperCounts = map[string]int{"quick": 2, "standard": 4, "deep": 8}

// assessResearch returns the assessment of a research. A scientific topic is also sent to the
// services for papers.
func (d Deps) assessResearch(query string, effects tools.Effects) tools.CallAssessment {
	j := d.assessSearch(query, effects)
	if scientific.MatchString(query) {
		j.Why += "; asks " + labelServices(paperServices()) + " for papers"
	}
	return j
}

func labelServices(list []paperService) string {
	var names []string
	for _, s := range list {
		names = append(names, s.label)
	}
	return strings.Join(names, ", ")
}

// readPapers appends the abstracts of papers about a scientific topic to the sources. It also
// returns the services that gave no answer.
func (d Deps) readPapers(ctx context.Context, topic, depth string, read []*source) (out []*source, notAsked map[string]string) {
	if !scientific.MatchString(topic) {
		return read, nil
	}
	var words []string
	for w := range strings.FieldsSeq(subjectWords(topic)) {
		if len(summary.Terms(w, "")) > 0 { // arXiv requires all words, so stop words do not help
			words = append(words, w)
		}
	}
	found, err := d.collectPapers(ctx, papersIn{Query: strings.Join(words, " "), Limit: paperCounts[depth]}, paperServices())
	if err != nil {
		return read, found.NotAsked
	}
	for _, p := range found.Papers {
		s := &source{URL: p.URL, Title: p.Title, Abstract: true}
		if p.Year > 0 {
			s.Date = strconv.Itoa(p.Year)
		}
		for _, x := range summary.Split(p.Abstract) {
			if !x.Fragment {
				s.sentences = append(s.sentences, x)
			}
		}
		if len(s.sentences) > 0 && !slices.ContainsFunc(read, func(x *source) bool { return x.URL == s.URL }) {
			s.N = len(read) + 1
			read = append(read, s)
		}
	}
	return read, found.NotAsked
}

// subjectWords removes question words from a text, and words that only ask for scientific sources.
func subjectWords(text string) string {
	text = questionWord.ReplaceAllString(text, " ")
	if short := scientific.ReplaceAllString(text, " "); len(strings.Fields(short)) > 1 {
		return short
	}
	return text
}
