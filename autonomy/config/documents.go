package config

// checkDocuments checks the keys of [knowledge] about documents.
func (k *checker) checkDocuments() {
	n := &k.c.Knowledge
	n.Folders = k.expandFolders("knowledge.folders", n.Folders)
	k.requireValid("knowledge.max_file", n.MaxFile.Bytes >= 1<<10 && n.MaxFile.Bytes <= 200<<20, `it must lie between "1KB" and "200MB"`)
	k.oneOf("knowledge.pictures", n.Pictures, "auto", "off")
	k.requireBetween("knowledge.chunk_size", n.ChunkSize, 200, 8000)
	k.requireValid("knowledge.chunk_overlap", n.ChunkOverlap >= 0 && n.ChunkOverlap*2 <= n.ChunkSize, "it must lie between 0 and half of chunk_size")
}
