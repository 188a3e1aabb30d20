package turn

import (
	"strings"

	"hob/platform/provenance"
	"hob/platform/text/redact"
	"hob/tools"
)

// redactSecrets returns a text in the form for a model. Secrets that the owner wrote stay, but Hob's
// own secrets are removed.
func (r *turnRun) redactSecrets(text string, src provenance.Source) string {
	if src.Tainted() {
		return r.o.Redact.Text(text)
	}
	return r.o.Redact.Known(text)
}

// refusePlaceholder refuses a call that would store or run a text with a redacted secret. The model
// has read a file without the secret and would destroy it by writing the file back, or it has
// named one of Hob's own secrets.
func refusePlaceholder(s *callStep) error {
	if s.tool == nil || s.tool.Spec().Effects.ReadOnly() || !strings.Contains(string(s.args), redact.Mark) {
		return nil
	}
	return &tools.Error{
		Source: provenance.Tool,
		Code:   tools.PolicyDenied, Message: "the arguments hold " + redact.Mark + " in the place of a secret, which would be lost or used wrongly",
		Remedy: "leave that part unchanged: change only other parts, or ask the user to insert the secret with a reference (env:NAME, keychain:NAME)",
	}
}
