package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hob/journal/durable"
)

func trustCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "trust", Short: "let this version of the repository's hob.toml name commands and models", GroupID: setup, Args: exactly(0),
		Long: "Remembers the digest of the repository's hob.toml as it is now. Until then, and again after\n" +
			"any change to it, the commands, endpoints and keys it names are not used.",
		RunE: func(cmd *cobra.Command, _ []string) error { return w.trust(cmd.Context()) },
	}
}

func (w *world) trust(ctx context.Context) error {
	s, err := w.found(ctx)
	if err != nil {
		return err
	}
	data, err := readRegular(filepath.Join(s.place.Root, "hob.toml"))
	if err != nil {
		return withHint(err, "write a hob.toml at the root of the repository first")
	}
	if err := s.trust(data); err != nil {
		return err
	}
	if w.json {
		return w.printJSON(map[string]any{"schema": "hob.trust/1", "trusted": "hob.toml", "sha256": digest(data)})
	}
	w.printf("trusted hob.toml %s\n", digest(data)[:12])
	return s.tellTrusted()
}

// tellTrusted shows what the trust is for: the commands and models that count now.
func (s *site) tellTrusted() error {
	c, err := s.load()
	if err != nil {
		return err
	}
	for _, v := range c.Validators {
		s.w.printf("  runs   %s: %s\n", plain(v.Name), plain(cmp.Or(v.Run, strings.Join(v.Argv, " "))))
	}
	for _, m := range c.Model {
		s.w.printf("  asks   %s %s %s\n", plain(m.Provider), plain(m.Model), plain(m.BaseURL))
	}
	s.w.printf("  cage   %s\n", c.Sandbox.Mode)
	return nil
}

// trust remembers these bytes of the repository's hob.toml, in place of any earlier ones.
func (s *site) trust(data []byte) error {
	if err := os.MkdirAll(s.state, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(s.w.FS, s.trustFile(), []byte(digest(data)+"\n"), 0o600)
}

func (s *site) trusted(data []byte) bool {
	kept, err := os.ReadFile(s.trustFile())
	return err == nil && string(bytes.TrimSpace(kept)) == digest(data)
}

func (s *site) trustFile() string { return filepath.Join(s.state, "trust") }

// digest is what trust is given to: the exact bytes.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
