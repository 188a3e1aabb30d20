package embed

import "strings"

// Prefixes returns the prefixes that a model expects before a query and before a document. They are
// empty for models without prefixes. The source is the model cards
// (https://huggingface.co/nomic-ai/nomic-embed-text-v1.5, .../intfloat/multilingual-e5-large,
// .../mixedbread-ai/mxbai-embed-large-v1, .../Snowflake/snowflake-arctic-embed-m,
// .../BAAI/bge-large-en-v1.5, .../google/embeddinggemma-300m, .../Qwen/Qwen3-Embedding-0.6B).
func Prefixes(model string) (query, document string) {
	m := strings.ToLower(model)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(m, p) {
				return true
			}
		}
		return false
	}
	const passages = "Represent this sentence for searching relevant passages: "
	switch {
	case has("nomic-embed"):
		return "search_query: ", "search_document: "
	case has("e5-") && has("instruct"):
		return "Instruct: Given a question, retrieve passages that answer it\nQuery: ", ""
	case has("e5-", "/e5", "multilingual-e5"):
		return "query: ", "passage: "
	case has("mxbai-embed"), has("arctic-embed") && !has("arctic-embed2", "arctic-embed-l-v2", "arctic-embed-m-v2"), has("bge-") && has("-en"):
		return passages, ""
	case has("arctic-embed"):
		return "query: ", ""
	case has("embeddinggemma"):
		return "task: search result | query: ", "title: none | text: "
	case has("qwen3-embedding"):
		return "Instruct: Given a question, retrieve passages that answer it\nQuery:", ""
	}
	return "", ""
}
