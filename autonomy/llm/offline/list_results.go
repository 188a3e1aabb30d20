package offline

import (
	"strings"

	"hob/platform/text/lazyregexp"
)

var (
	addedForm   = lazyregexp.New(`^Added task "(.+)", project (.+ list)\.$`)
	listedForm  = lazyregexp.New(`^(\d+ open tasks?|There are no open tasks) in the project "(.+ list)"[:.]`)
	doneForm    = lazyregexp.New(`^Done: "(.+)"\. `)
	projectForm = lazyregexp.New(`project ([^,()\n]+ list)[,)]`)
	noneForm    = lazyregexp.New(`^There are no open tasks about "buy"\.$`)
)

// joinListParts formats the results for named lists as changes to lists instead of tasks of a
// project. list is the list that the request named, if any.
func joinListParts(parts []string, list string) (out []string) {
	var added, off []string
	for i, part := range parts {
		switch m, l := addedForm.FindStringSubmatch(part), listedForm.FindStringSubmatch(part); {
		case m != nil:
			added = append(added, m[1])
			if next := i + 1; next < len(parts) {
				if n := addedForm.FindStringSubmatch(parts[next]); n != nil && n[2] == m[2] {
					continue
				}
			}
			out = append(out, "Added to your "+m[2]+": "+strings.Join(added, ", ")+".")
			added = nil
		case list != "" && doneForm.MatchString(part):
			off = append(off, doneForm.FindStringSubmatch(part)[1])
			if i+1 == len(parts) || !doneForm.MatchString(parts[i+1]) {
				out = append(out, "Off your "+list+": "+strings.Join(off, ", ")+".")
				off = nil
			}
		case l != nil && strings.HasPrefix(l[1], "There"):
			out = append(out, "Your "+l[2]+" is empty.")
		case l != nil:
			out = append(out, "On your "+l[2]+":"+strings.ReplaceAll(part[len(l[0]):], " (project "+l[2]+")", ""))
		case noneForm.MatchString(part) && len(parts) > 1:
		default:
			out = append(out, part)
		}
	}
	return out
}

// listOf returns the named list that the calls of a plan use, or "".
func (p plan) listOf() string {
	for _, c := range p.calls {
		if name, _ := c.args["project"].(string); strings.HasSuffix(name, " list") {
			return name
		}
	}
	return ""
}
