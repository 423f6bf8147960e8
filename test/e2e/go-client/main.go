// Asks a node through go-ethereum's own RPC client, once alone and once in a batch behind another request, and prints as JSON what that
// client makes of the answers.
//
// Usage: client URL METHOD PARAMETERS
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Time for everything.
const limit = time.Minute

type outcome struct {
	Result json.RawMessage `json:"result,omitempty"`
	Code   int             `json:"code,omitempty"`
	Error  string          `json:"error,omitempty"`
}

type report struct {
	Alone outcome   `json:"alone"`
	Batch []outcome `json:"batch"`
}

// What the client says of one request: its error wins over a result.
func toOutcome(result json.RawMessage, err error) outcome {
	if err == nil {
		return outcome{Result: result}
	}
	var coded rpc.Error
	if errors.As(err, &coded) {
		return outcome{Code: coded.ErrorCode(), Error: coded.Error()}
	}
	return outcome{Error: err.Error()}
}

func run(url, method, parameters string) (*report, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(parameters), &raw); err != nil {
		return nil, err
	}
	params := make([]any, len(raw))
	for i := range raw {
		params[i] = raw[i]
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	client, err := rpc.DialContext(ctx, url)
	if err != nil {
		return nil, err
	}
	defer client.Close()

	var alone, id, late json.RawMessage
	err = client.CallContext(ctx, &alone, method, params...)
	done := &report{Alone: toOutcome(alone, err)}
	batch := []rpc.BatchElem{
		{Method: "eth_chainId", Result: &id},
		{Method: method, Args: params, Result: &late},
	}
	if err := client.BatchCallContext(ctx, batch); err != nil {
		return nil, err
	}
	done.Batch = []outcome{toOutcome(id, batch[0].Error), toOutcome(late, batch[1].Error)}
	return done, nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: client URL METHOD PARAMETERS")
		os.Exit(2)
	}
	done, err := run(os.Args[1], os.Args[2], os.Args[3])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(done)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
