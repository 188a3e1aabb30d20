package agent

import (
	"strings"

	"hob/platform/provenance"
	"hob/platform/redact"
	"hob/tools"
)

// clean is a text as a model may read it. The owner knows best what he shows,
// except that Hob's own secrets stay with Hob.
func (r *run) clean(text string, src provenance.Source) string {
	if src.Tainted() {
		return r.o.Redact.Text(text)
	}
	return r.o.Redact.Known(text)
}

// placeholder refuses a call that would store or run a text in which a secret
// was taken out: the model has read a file without it, and would destroy it by
// writing the file back; or it has named one of Hob's own.
func placeholder(s *step) error {
	if s.tool == nil || s.tool.Spec().Effects.ReadOnly() || !strings.Contains(string(s.args), redact.Mark) {
		return nil
	}
	return &tools.Error{
		Source: provenance.Tool,
		Code:   tools.PolicyDenied, Message: "the arguments hold " + redact.Mark + " in the place of a secret, which would be lost or used wrongly",
		Remedy: "leave that part as it is: change only other parts, or ask the owner to put the secret in by a reference (env:NAME, keychain:NAME)",
	}
}
