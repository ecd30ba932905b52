package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/validators/sandbox"
)

const kept = (64 + 256 + 64) << 10 // head, tail, reserve

func TestOutputKeepsShortStreamsWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 9000), 0, 30).Draw(rt, "chunks")
		var out sandbox.Output
		for _, c := range chunks {
			if n, err := out.Write(c); n != len(c) || err != nil {
				rt.Fatalf("Write = %d, %v", n, err)
			}
		}
		all := bytes.Join(chunks, nil)
		if !bytes.Equal(out.Bytes(), all) {
			rt.Fatalf("Bytes() of %d bytes differs from what was written", len(all))
		}
		checkSums(rt, &out, all)
	})
}

func TestOutputIsBoundedAndHonest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.SampledFrom([]string{"x\n", "an ordinary line\n", "error: one of many\n", strings.Repeat("z", 9000) + "\n"})
		var all bytes.Buffer
		var out sandbox.Output
		for all.Len() < 400<<10 {
			text := line.Draw(rt, "line")
			chunk := []byte(strings.Repeat(text, rapid.IntRange(1, 100_000/len(text)).Draw(rt, "times")))
			for piece := range bytesChunks(chunk, rapid.IntRange(1000, 40000).Draw(rt, "size")) {
				all.Write(piece)
				out.Write(piece)
			}
		}
		b := out.Bytes()
		if len(b) > kept+200 {
			rt.Fatalf("%d bytes kept of %d, want at most %d", len(b), all.Len(), kept)
		}
		if !bytes.HasPrefix(b, all.Bytes()[:64<<10]) || !bytes.HasSuffix(b, all.Bytes()[all.Len()-256<<10:]) {
			rt.Fatalf("head or tail isn't that of the stream")
		}
		gap := fmt.Sprintf("\n[hob: %d bytes omitted", all.Len()-(64+256)<<10)
		if !bytes.Contains(b, []byte(gap)) {
			rt.Fatalf("no line says %q", gap)
		}
		checkSums(rt, &out, all.Bytes())
	})
}

func TestOutputKeepsTheDecisiveLineInTheMiddle(t *testing.T) {
	noise := strings.Repeat("compiling another file, all is well\n", 20000)
	decisive := "src/io.c:41: error: unknown type name 'tide_t'"
	for size := range 3 {
		var out sandbox.Output
		for piece := range bytesChunks([]byte(noise+decisive+"\n"+noise), []int{7, 1000, 32 << 10}[size]) {
			out.Write(piece)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n"+decisive+"\n")); got != 1 {
			t.Errorf("the decisive line stands %d times in the kept output, want once", got)
		}
	}
}

func TestEndlessOutputIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out sandbox.Output
	c := shell(t, "head -c 200000000 /dev/zero; echo; echo the end; exit 1", &out)
	got, err := sandbox.None().Run(t.Context(), c, sandbox.Limits{Wall: time.Minute})
	runtime.ReadMemStats(&after)
	if err != nil || got.Code != 1 || out.Len() != 200000009 {
		t.Fatalf("Run = %+v, %v with %d bytes; want code 1 and all bytes seen", got, err, out.Len())
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\nthe end\n")) {
		t.Errorf("the end of the output is missing")
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d bytes were allocated for 200 MB of output, want at most 32 MiB", grown)
	}
}

func checkSums(rt *rapid.T, out *sandbox.Output, all []byte) {
	sum := sha256.Sum256(all)
	if out.Digest() != hex.EncodeToString(sum[:]) || out.Len() != int64(len(all)) {
		rt.Fatalf("Digest, Len = %s, %d; want %x, %d", out.Digest(), out.Len(), sum, len(all))
	}
}

func bytesChunks(b []byte, size int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			n := min(size, len(b))
			if !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}
