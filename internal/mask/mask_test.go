package mask_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/mask"
)

// masked writes a text in pieces of n bytes.
func masked(t testing.TB, text string, n int) (string, []string) {
	t.Helper()
	var out bytes.Buffer
	m := mask.NewWriter(&out)
	for len(text) > 0 {
		k := min(n, len(text))
		if _, err := m.Write([]byte(text[:k])); err != nil {
			t.Fatal(err)
		}
		text = text[k:]
	}
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String(), m.Found()
}

// secrets are none that anybody has: they are made of one letter.
var secrets = map[string]string{
	"hf_" + strings.Repeat("aB3", 12):                   "Hugging Face token",
	"ghp_" + strings.Repeat("a1", 18):                   "GitHub token",
	"sk-" + strings.Repeat("a1b", 10):                   "API key",
	"AKIA" + strings.Repeat("A1", 8):                    "AWS key",
	"nvapi-" + strings.Repeat("x-1", 10):                "NVIDIA key",
	"eyJ" + strings.Repeat("h1", 20) + ".eyJzdWIi.c2ln": "signed token",
}

func TestSecretsAreMasked(t *testing.T) {
	for s, what := range secrets {
		for _, around := range []string{`{"name":"%"}`, "%", "x % y", `{"a":["%"]}`, "\n%\n"} {
			in := strings.ReplaceAll(around, "%", s)
			for _, n := range []int{1, 7, len(in)} {
				got, found := masked(t, in, n)
				if strings.Contains(got, s) || strings.Contains(got, s[len(s)-10:]) || len(got) != len(in) ||
					len(found) != 1 || found[0] != "1 × "+what {
					t.Errorf("%q in pieces of %d: %q, %q", in, n, got, found)
				}
			}
		}
	}
}

func TestValuesNamedAsSecretsAreMasked(t *testing.T) {
	in := `{"env":{"HF_TOKEN":"abcdefghij","MY_API_KEY" : "0123456789","HOME":"/home/me","db_password":"hunter2hunter2"},"log":"{\"AWS_SECRET\": \"kkkkkkkkkkkk\"}"}`
	got, found := masked(t, in, 1)
	for _, s := range []string{"abcdefghij", "0123456789", "hunter2", "kkkk"} {
		if strings.Contains(got, s) {
			t.Errorf("%q is left: %s", s, got)
		}
	}
	if !strings.Contains(got, "/home/me") || !json.Valid([]byte(got)) || len(found) != 1 ||
		found[0] != "4 × value named as a secret" {
		t.Errorf("%s, %q", got, found)
	}
}

// TestNamesOfKernelsAndOpsStay: nothing of a usual trace looks like a secret.
func TestNamesOfKernelsAndOpsStay(t *testing.T) {
	for _, s := range []string{
		"hf_transformer_layers_forward_decode_attention", "void cutlass::hf_gemm<128,128>",
		"task-0123456789012345678901234567", "eyJ", "vllm::max_tokens_per_batch",
		`{"num_tokens":"12","token":"a"}`, "_ZN7cutlass13device_kernelIN5flash24enable_sm80_to_sm89INS1_16FlashAttnFwdSm80",
		"AKIARA", `"tokenizer":"meta-llama/Llama-3"`,
		"sk-" + strings.Repeat("word-", 8), "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256",
	} {
		if got, found := masked(t, s, 5); got != s || len(found) > 0 {
			t.Errorf("%q became %q: %q", s, got, found)
		}
	}
}

// TestSecretsAcrossBuffers: wherever one is in a long stream it is masked once.
func TestSecretsAcrossBuffers(t *testing.T) {
	s := "hf_" + strings.Repeat("aB3", 12)
	for before := 64<<10 - 60; before < 64<<10+10; before++ {
		in := strings.Repeat(".", before) + s + strings.Repeat(".", 70_000)
		got, found := masked(t, in, 1000)
		if strings.Contains(got, "aB3") || len(got) != len(in) || len(found) != 1 ||
			found[0] != "1 × Hugging Face token" {
			t.Fatalf("at %d: %q", before, found)
		}
	}
}

// FuzzMask: whatever comes in which pieces, the length stays, and equal texts are masked equally.
func FuzzMask(f *testing.F) {
	for s := range secrets {
		f.Add(`{"name":"`+s+`"}`, 3)
	}
	f.Fuzz(func(t *testing.T, in string, n int) {
		if n < 1 || n > 1000 {
			return
		}
		whole, _ := masked(t, in, max(1, len(in)))
		pieces, _ := masked(t, in, n)
		if len(whole) != len(in) || whole != pieces {
			t.Fatalf("%q: %q at once, %q in pieces of %d", in, whole, pieces, n)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	event := []byte(`  {"ph":"X","cat":"kernel","name":"void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy>","pid":0,"tid":7,"ts":5312.123,"dur":3.2,"args":{"device":0,"stream":7,"correlation":12,"grid":[1,1,1]}},` + "\n")
	m := mask.NewWriter(io.Discard)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Write(event); err != nil {
			b.Fatal(err)
		}
	}
}
