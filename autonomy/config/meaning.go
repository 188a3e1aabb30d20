package config

import (
	"strings"
	"time"
	"unicode/utf8"
)

// checkSemanticSearch checks the keys of [knowledge] about vectors and reranking models.
func (k *checker) checkSemanticSearch() {
	n := k.c.Knowledge
	k.requireValid("knowledge.embeddings", n.Embeddings == "off" || n.Embeddings != "offline" && k.modelName(n.Embeddings),
		`it must be "off", "provider/model" or the name of a provider`)
	for key, v := range map[string]string{"knowledge.query_prefix": n.QueryPrefix, "knowledge.document_prefix": n.DocumentPrefix} {
		k.requireValid(key, utf8.RuneCountInString(v) <= 500 && !strings.ContainsRune(v, 0), "it must be at most 500 characters long")
	}
	k.requireBetween("knowledge.embedding_chars", n.EmbeddingChars, 200, 100_000)
	k.requireBetween("knowledge.embedding_batch", n.EmbeddingBatch, 1, 100)
	k.oneOf("knowledge.vector_first_pass", n.VectorFirstPass, "auto", "on", "off")
	k.requireBetween("knowledge.vector_rescored", n.VectorRescored, 20, 5000)
	for key, v := range map[string]string{"knowledge.corrective": n.Corrective, "knowledge.reranker": n.Reranker} {
		k.requireValid(key, v == "off" || v == "auto" || v != "offline" && k.modelName(v), `it must be "off", "auto", "provider/model" or the name of a provider`)
	}
	k.requireBetween("knowledge.rerank_hits", n.RerankHits, 2, 50)
	for key, v := range map[string]Duration{"knowledge.query_timeout": n.QueryTimeout, "knowledge.refine_timeout": n.RefineTimeout} {
		k.requireValid(key, v.Duration >= 100*time.Millisecond && v.Duration <= time.Minute, `it must lie between "100ms" and "1m"`)
	}
}
