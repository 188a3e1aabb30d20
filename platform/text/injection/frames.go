package injection

import (
	"regexp"
	"strings"
	"sync"
)

// forms are the frames in which models are spoken to, and markup that carries
// out what a page shows. Most are named by a text that cannot be missing.
type framePattern struct {
	family  string
	needs   []string
	pattern string
	re      func() *regexp.Regexp
}

var forms = sync.OnceValue(func() []framePattern {
	list := []framePattern{
		{family: Impersonation, needs: []string{"<|", "[inst]", "[/inst]", "<<sys>>", "<start_of_turn>", "</s>"}, pattern: `<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)[^>]{0,20}\|?>|\[/?inst\]|<<sys>>|<start_of_turn>|</s>`},
		{family: Impersonation, needs: []string{"system", "assistant", "user", "developer", "human"}, pattern: `(?m)^[\s>#*\-=]*[<\[(#*]{1,3}\s*/?(?:system|assistant|developer|admin|human)(?:[ _-]?(?:prompt|message|instructions?|override|note|announ\S{0,20}))?\s*[>\])#*:]{1,3}`},
		{family: Impersonation, needs: []string{"system", "assistant", "human"}, pattern: `(?m)^\s*(?:system|assistant|human|new system prompt|system prompt|system message)\s*:\s+\S`},
		{family: Impersonation, needs: []string{"information>", "important>", "instruction>", "instructions>", "tool_call", "function_call", "tool_result", "tool_response"}, pattern: `</?\s*(?:information|important|instructions?|system-reminder|tool_(?:call|result|response)|function_calls?|invoke)\s*>`},
		{family: Commands, needs: []string{`"tool`, `"function`, `"name"`}, pattern: `\{\s*"(?:tool|function|tool_name|function_call|name)"\s*:\s*"[a-z_]{3,40}"\s*,\s*"(?:arguments|parameters|args|input)"`},
		{family: Exfiltration, needs: []string{"]("}, pattern: `!\[[^\]\n]{0,200}\]\(\s*<?https?:[^)\s]{0,300}(?:\?|=|%7b|\{|\$)[^)\s]{0,300}\)`},
		{family: Exfiltration, needs: []string{"<img", "<iframe", "<script", "<link", "url("}, pattern: `<(?:img|iframe|script|link|object|embed)[^>]{0,300}(?:\{\{|\$\{|%7b|document\.cookie|[?&](?:d|data|q|c|cookie|token|key|secret|content)=)`},
		{family: Commands, needs: []string{"curl ", "wget ", "rm -", "invoke-", "base64 -d", "powershell"}, pattern: `(?:curl|wget)\s[^\n|]{0,200}\|\s*(?:ba|z|da)?sh\b|\brm\s+-[rf]{1,2}\s|invoke-(?:webrequest|expression)|base64\s+-d[^\n]{0,60}\|\s*(?:ba|z)?sh|powershell\s+-e`},
	}
	for i := range list {
		p := list[i].pattern
		list[i].re = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(p) })
	}
	return list
})

// findFrames records the families whose prompt frames appear in a text.
func findFrames(_, plain string, found map[string]bool) {
	for _, f := range forms() {
		if found[f.family] {
			continue
		}
		for _, n := range f.needs {
			if strings.Contains(plain, n) {
				if f.re().MatchString(plain) {
					found[f.family] = true
				}
				break
			}
		}
	}
}
