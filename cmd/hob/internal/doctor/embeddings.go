package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
)

// checkEmbeddings checks the embedder in [knowledge]. It calls a local embedder; from a paid one it
// only requests the list of models.
func checkEmbeddings(ctx context.Context, e Env) []Check {
	const key = "knowledge.embeddings"
	name := e.Config.Knowledge.Embeddings
	if name == "off" {
		return okCheck("embeddings", "off: memory search uses words only (docs/embeddings.md)")
	}
	o := e.modelOptions(ctx)
	em, err := llmall.Embedder(name, o)
	if err != nil {
		return failWithError("embeddings", fmt.Errorf("%s = %q: %w", key, name, err), "choose another one or switch it off: hob config set "+key+" off")
	}
	m, is := em.(llm.Model)
	if !is {
		return okCheck("embeddings", name)
	}
	info := m.Info()
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	if info.Local {
		v, _, err := em.Embed(ctx, []string{"tea"})
		if err != nil {
			return checkUnreachable(info, err)
		}
		return okCheck("embeddings", fmt.Sprintf("%s returns vectors with %d dimensions", info.Name(), len(v[0])))
	}
	l, is := em.(llmall.Lister)
	if !is {
		return skipCheck("embeddings", info.Name()+" cannot be checked without using it", "")
	}
	models, err := l.Models(ctx)
	switch {
	case err != nil && llm.KindOf(err) != llm.NotFound:
		return checkUnreachable(info, err)
	case err == nil && len(models) > 0 && !slices.ContainsFunc(models, func(s string) bool { return strings.TrimPrefix(s, "models/") == info.Model }):
		return warnCheck("embeddings", fmt.Sprintf("%s does not list the model %s", info.Provider, info.Model), "check the model name and whether the key may use the model: hob provider test")
	}
	return okCheck("embeddings", info.Name()+"; the text of everything in the memory is sent to it")
}

// checkUnreachable returns the finding for an embedder that does not respond. No data is lost: new
// items are found by words until the embedder responds.
func checkUnreachable(info llm.Info, err error) []Check {
	cause, remedy := strings.TrimSuffix(llm.DescribeError(err), "."), ""
	if e, is := errors.AsType[*llm.Error](err); is && e.Remedy != "" {
		cause, remedy = e.Message, e.Remedy
	}
	if remedy == "" || llm.KindOf(err) == llm.Interrupted {
		remedy = "start its server, or load the model " + info.Model + " there"
		if !info.Local {
			remedy = "check the internet connection and [providers." + info.Provider + "]"
		}
	}
	return warnCheck("embeddings", info.Name()+": "+cause+"; until it answers, new items are found by words only", remedy)
}
