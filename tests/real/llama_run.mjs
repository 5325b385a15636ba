// SPDX-License-Identifier: Apache-2.0
//
// usage: node llama_run.mjs FOLDER MODEL mmap|read STEPS
//
// Loads a model with llama.cpp's Vulkan backend, as the npm package node-llama-cpp in FOLDER brings it,
// lets it go on from four tokens for so many steps, and prints each step's token and a hash of all
// probabilities.
import {createHash} from "node:crypto";
import path from "node:path";
import {pathToFileURL} from "node:url";

const [folder, modelPath, how, steps] = process.argv.slice(2);
const main = path.join(folder, "node_modules/node-llama-cpp/dist/index.js");
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(main).href);

const llama = await getLlama({gpu: "vulkan", build: "never", skipDownload: true, progressLogs: false,
                              logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath, gpuLayers: "max", useMmap: how === "mmap"});
const context = await model.createContext({contextSize: 128, sequences: 1});
const sequence = context.getSequence();
let tokens = [1, 300, 301, 302];
for (let step = 0; step < Number(steps); step++) {
    const input = tokens.map((token, i) =>
        i + 1 < tokens.length ? token : [token, {generateNext: {token: true, probabilities: true,
                                                                options: {temperature: 0}}}]);
    const {next} = (await sequence.controlledEvaluate(input)).at(-1);
    const all = [...next.probabilities].sort(([a], [b]) => a - b);
    const hash = createHash("sha256").update(Float64Array.from(all.flat()));
    console.log(`token ${next.token}, ${all.length} probabilities ${hash.digest("hex").slice(0, 32)}`);
    tokens = [next.token];
}
process.exit(0);
