// SPDX-License-Identifier: GPL-2.0-or-later
// The page of --serve: what a tool measures, while it measures. The tool sends slices of time (live/slices.h); the page keeps the
// last minutes of them, and shows the sum of those in a range.
'use strict';

const KEEP_S = 600;
const EDGE_MS = 2;	// times are rounded
const SILENCE_MS = 30000;	// after which the page connects again
const IDLE_S = 20;	// for which the tool looks whether a wait is idle

// Frames, nodes and stacks by numbers of the page's own, because the tool's begin anew now and then.
class LiveTables {
	constructor() {
		this.known = new Map();
		this.frames = [];		// {text, kind, json}
		this.caller = [0];		// of each node, with its frame
		this.frame = [-1];
		this.stacks = [];		// {thread, root, user, kernel, head, waker: {thread, user, kernel, head} or null}
	}

	number(key, list, make) {
		let number = this.known.get(key);
		if (number === undefined) {
			number = list.length;
			this.known.set(key, number);
			list.push(make());
		}
		return number;
	}

	addFrame(frame) {
		return this.number('f' + JSON.stringify(frame), this.frames, () => frame);
	}

	addNode(caller, frame) {
		return this.number(`n${caller},${frame}`, this.caller, () => {
			this.frame.push(frame);
			return caller;
		});
	}

	addStack(stack) {
		return this.number('s' + JSON.stringify(stack), this.stacks, () => stack);
	}

	// frames from the node to the root
	* way(node) {
		for (; node; node = this.caller[node])
			yield this.frame[node];
	}

	// the same node in other tables
	copyNode(node, to) {
		let copied = 0;
		for (const frame of [...this.way(node)].reverse())
			copied = to.addNode(copied, to.addFrame(this.frames[frame]));
		return copied;
	}

	copyStack(number, to) {
		const stack = this.stacks[number];
		const side = of => ({...of, user: this.copyNode(of.user, to), kernel: this.copyNode(of.kernel, to)});
		return to.addStack({...side(stack), waker: stack.waker && side(stack.waker)});
	}
}

const VALUES = 5;	// of a stack in a slice: its number, count, value, blocked and waiting ns

class LiveData {
	constructor() {
		this.tables = new LiveTables();
		this.slices = [];	// {from, until, summary, values, idle}: times in ms
		this.frozen = null;	// copies, which are shown while the page is paused
		this.commands = {};
		this.processes = new Map();
		this.lanes = new LiveLanes();
		this.start = null;
	}

	get shown() {
		return this.frozen ?? this.slices;
	}

	freeze(paused) {
		this.lanes.freeze(paused);
		this.frozen = paused ? this.slices.map(slice => ({...slice, values: slice.values.slice(), idle: new Set(slice.idle)})) : null;
	}

	// the tool's numbers in the page's
	begin() {
		this.to = {frames: [], nodes: [0], stacks: []};
	}

	add(document) {
		const {tables, to} = document.begins ? (this.begin(), this) : this;
		for (const process of document.processes) {
			this.processes.set(process.pid, process);
			if (process.cmdline)
				this.commands[process.pid] = cleaned(process.cmdline);
			else	// one before it had the number
				delete this.commands[process.pid];
		}
		for (const [kind, text, json] of document.frames)
			to.frames.push(tables.addFrame({text: text || json.symbol, kind, json}));
		for (let i = 0; i < document.nodes.length; i += 2)
			to.nodes.push(tables.addNode(to.nodes[document.nodes[i]], to.frames[document.nodes[i + 1]]));
		for (const [thread, root, user, kernel, head, ...waker] of document.stacks)
			to.stacks.push(tables.addStack({
				thread, root, user: to.nodes[user], kernel: to.nodes[kernel], head: withoutValues(head),
				waker: waker.length ? {thread: waker[0], user: to.nodes[waker[1]], kernel: to.nodes[waker[2]], head: waker[3]} : null,
			}));
		const values = Float64Array.from(document.values);
		for (let i = 0; i < values.length; i += VALUES)
			values[i] = to.stacks[values[i]];
		const from = Date.parse(document.summary.began.slice(0, 23) + 'Z'), until = from + 1000 * document.summary.seconds;
		if (this.slices.length && from < this.slices.at(-1).from - 1000)	// the clock was set back
			this.slices = [];
		this.slices.push({from, until, summary: document.summary, values, idle: new Set()});
		// it takes a while until a wait is known to be idle
		for (const slice of this.slices.filter(slice => slice.until > until - 1000 * IDLE_S))
			for (const stack of document.idle)
				slice.idle.add(to.stacks[stack]);
		while (this.slices[0].until < until - 1000 * KEEP_S)
			this.slices.shift();
		this.bound();
		if (document.lanes_began)
			this.lanes.add(document, until - 1000 * KEEP_S);
	}

	// Leaves stacks out that no slice has any more.
	bound() {
		if (this.tables.stacks.length < 2 * (this.used ?? 5000))
			return;
		const tables = new LiveTables(), moved = new Map();
		const move = stack => {
			if (!moved.has(stack))
				moved.set(stack, this.tables.copyStack(stack, tables));
			return moved.get(stack);
		};
		for (const slice of [...this.slices, ...this.frozen ?? []]) {
			for (let i = 0; i < slice.values.length; i += VALUES)
				slice.values[i] = move(slice.values[i]);
			slice.idle = new Set([...slice.idle].map(move));
		}
		this.to = {
			frames: this.to.frames.map(frame => tables.addFrame(this.tables.frames[frame])),
			nodes: this.to.nodes.map(node => this.tables.copyNode(node, tables)),
			stacks: this.to.stacks.map(move),
		};
		this.tables = tables;
		this.used = Math.max(5000, moved.size);
	}

	// those of which at least some ms are in the range
	within(range) {
		return range ? this.shown.filter(slice => slice.until > range.from + EDGE_MS && slice.from < range.until - EDGE_MS) : this.shown;
	}

	// The sums of the stacks in these slices: number -> [count, value, blocked, waiting, idle].
	sums(slices, withIdle) {
		const sums = new Map();
		for (const {values, idle} of slices)
			for (let i = 0; i < values.length; i += VALUES) {
				const isIdle = idle.has(values[i]);
				if (isIdle && !withIdle)
					continue;
				let sum = sums.get(values[i]);
				if (!sum)
					sums.set(values[i], sum = [0, 0, 0, 0, isIdle]);
				for (let part = 0; part < VALUES - 1; part++)
					sum[part] += values[i + 1 + part];
				sum[4] &&= isIdle;
			}
		return sums;
	}

	// Adds stacks to a tree: `scale` times their values, to .self or .before.
	plant(tree, sums, side, scale) {
		const known = tree.knownLabels ??= new Map(), ways = tree.ways ??= new Map(), {tables} = this;
		const label = (text, kind, pid = 0, tid = 0) => {
			const key = `${kind}${tid} ${text}`;
			let number = known.get(key);
			if (number === undefined)
				known.set(key, number = tree.labels.push({text, kind, pid, tid}) - 1);
			return number;
		};
		const labelOf = (frame, kernel) => {
			const {text, kind} = tables.frames[frame];
			return label(text, kind === 'k' ? kernel : kind);
		};
		// from a tree's node along a stack's frames to the leaf
		const follow = (base, leaf, kernel) => {
			const steps = [];
			let node = leaf, at;
			for (; node && (at = ways.get(`${base} ${node}`)) === undefined; node = tables.caller[node])
				steps.push(node);
			at ??= base;
			for (const step of steps.reverse()) {
				at = tree.callee(at, labelOf(tables.frame[step], kernel));
				ways.set(`${base} ${step}`, at);
			}
			return at;
		};
		for (const [number, sum] of sums) {
			const {thread, root, user, kernel: inKernel, head, waker} = tables.stacks[number];
			const kernel = tree.unit === 'ns' && !head.running ? 'o' : 'k';
			let node = tree.callee(0, label(thread, 't', head.pid, head.tid));
			if (root)
				node = tree.callee(node, label(root, 't'));
			node = follow(follow(node, user, kernel), inKernel, kernel);
			if (waker) {
				node = tree.callee(node, label('--', 't'));
				for (const leaf of [waker.kernel, waker.user])
					for (const frame of tables.way(leaf))
						node = tree.callee(node, labelOf(frame, 'k'));
				node = tree.callee(node, label(waker.thread, 't'));
			}
			tree[side][node] += scale * sum[1];
		}
	}
}

// Without characters that change how others are shown; the tool escapes all other names itself.
function cleaned(text) {
	return text.replace(/[^\P{C} ]|[\u2028\u2029]/gu, c => `\\u{${c.codePointAt(0).toString(16)}}`);
}

const VALUE_FIELDS = ['count', 'sum', 'value_ns', 'blocked_ns', 'waiting_ns'];

function withoutValues(head) {
	for (const field of VALUE_FIELDS)
		if (field in head)
			head[field] = 0;
	return head;
}

// The sum of summaries
function summed(summaries) {
	const add = (to, from) => {
		for (const key in from) {
			if (typeof from[key] === 'object')
				add(to[key] ??= {}, from[key]);
			else if (typeof from[key] !== 'number')
				to[key] ??= from[key];
			else if (key === 'idle_threads')
				to[key] = Math.max(to[key] ?? 0, from[key]);
			else
				to[key] = (to[key] ?? 0) + from[key];
		}
		return to;
	};
	return summaries.reduce(add, {});
}

// ---- the page ----

function livePage() {
	const data = new LiveData();
	let page = null, range = null, before = null, paused = false, ended = null, connected = false, due = null;
	let ofStates = false;	// the stacks are of threads that run, too
	const button = (name, title, act) => {
		const made = html('button', {type: 'button', title}, name);
		made.addEventListener('click', act);
		return made;
	};
	const text = ms => new Date(ms).toLocaleTimeString();
	const state = html('output', {class: 'state'}), rangeText = html('output', {}), beforeText = html('output', {});
	const strip = element(SVG, 'svg', {class: 'strip', height: 80});
	const idle = html('input', {type: 'checkbox', id: 'idle'});
	const idleLabel = html('label', {for: 'idle'}, idle, ' idle threads');
	const last = html('select', {'aria-label': 'range', title: 'range'},
		...[['', 'all that is kept'], ['10', 'the last 10 s'], ['60', 'the last minute'], ['300', 'the last 5 minutes'], ['range', 'a range of the strip']]
			.map(([value, text]) => html('option', {value}, text)));
	const format = html('select', {'aria-label': 'format', title: 'format'},
		...Object.keys(liveFormats).map(name => html('option', {value: name}, '.' + name)));

	const chosen = () => {
		const newest = data.shown.at(-1)?.until ?? 0;
		return last.value === 'range' ? range : last.value ? {from: newest - 1000 * last.value, until: newest} : null;
	};
	const secondsOf = slices => slices.reduce((sum, slice) => sum + (slice.until - slice.from) / 1000, 0);
	const treeOf = (slices, earlier) => {
		const tree = new FlameTree([], data.start.unit);
		data.plant(tree, data.sums(slices, idle.checked), 'self', 1);
		if (earlier) {
			/* of as much time */
			data.plant(tree, data.sums(earlier, idle.checked), 'before', secondsOf(slices) / (secondsOf(earlier) || 1));
			tree.compared = true;
		}
		return tree.finish();
	};
	const made = () => {
		const slices = data.within(chosen()), notes = [];
		let earlier = before && data.within(before);
		if (earlier && !earlier.length) {
			notes.push(`the time from ${text(before.from)} to ${text(before.until)} is not kept any more: it is compared no more`);
			before = earlier = null;
		}
		const tree = treeOf(slices, earlier), {start} = data.start, summary = summed(slices.map(slice => slice.summary));
		if (slices.length) {
			const withUser = summary.ended_ns ?? summary.ended;
			const all = Object.entries(withUser).reduce((sum, [end, value]) => sum + (['no_user', 'not_taken'].includes(end) ? 0 : value), 0);
			notes.push(`${summary.samples} ${ofStates || data.start.unit !== 'ns' ? data.start.counted : 'periods'} in ${secondsOf(slices).toFixed(1)} s, ` +
				`${text(slices[0].from)} to ${text(slices.at(-1).until)}` +
				(all ? `, ${(100 * withUser.complete / all).toFixed(2)} % complete` : '') +
				`, ${summary.lost - summary.machine_lost} lost` + (summary.machine_lost ? `, ${summary.machine_lost} on the whole machine` : ''));
		}
		if (earlier)
			notes.push(`compared with ${text(before.from)} to ${text(before.until)}, as if it had lasted as long`);
		if (ended)
			notes.push(...ended.said.split('\n').filter(line => line));
		return {slices, tree, data: {
			title: cleaned(start.command_line), when: `since ${text(Date.parse(start.time))} on ${cleaned(start.host)}, Linux ${cleaned(start.kernel)}`,
			notes, commands: data.commands, kinds: tree.labels.map(label => label.kind).join(''),
		}};
	};

	const say = () => {
		state.textContent = ended ? 'The run has ended.' : !connected ? 'Not connected.' : paused ? 'Paused.' : 'Live.';
		state.className = 'state ' + (ended || !connected ? 'off' : paused ? 'paused' : 'on');
		pause.setAttribute('aria-pressed', paused);
		const now = chosen();
		rangeText.textContent = now ? `${text(now.from)} to ${text(now.until)}` : '';
		compare.disabled = !data.within(now).length;
		compare.textContent = before ? 'Compare no more' : 'Compare this with another';
		beforeText.textContent = before ? `compared with ${text(before.from)} to ${text(before.until)}` : '';
	};
	const draw = () => {
		due = null;
		const began = performance.now();
		if (data.shown.length) {
			const {tree, data: about} = made();
			if (page)
				page.update(about, tree);
			else
				page = flamePage(about, tree);
			document.title = about.title;
		}
		drawStrip();
		drawLanes();
		say();
		return performance.now() - began;
	};
	// Drawing takes at most a quarter of the time.
	let restUntil = 0;
	const soon = () => {
		if (paused)
			return;
		due ??= setTimeout(() => {
			const took = draw();
			restUntil = performance.now() + 3 * took;
		}, Math.max(0, restUntil - performance.now()));
	};

	// ---- the strip ----
	let scale = null;	// {from, perMs}
	const x = time => (time - scale.from) * scale.perMs;
	const height = 62;
	const parts = slice => {
		const ns = 1e6 * (slice.until - slice.from) || 1, sum = [0, 0, 0];
		let running = 0;
		for (let i = 0; i < slice.values.length; i += VALUES) {
			if (!idle.checked && slice.idle.has(slice.values[i]))
				continue;
			if (data.tables.stacks[slice.values[i]].head.running)
				running += slice.values[i + 2];
			else
				for (let part = 0; part < 3; part++)
					sum[part] += slice.values[i + 2 + part];
		}
		if (data.start.unit === 'ns')
			return [...ofStates ? [['on', running / ns]] : [], ['waiting', sum[2] / ns], ['blocked', sum[1] / ns]];
		return [[data.start.value_ns ? 'on' : 'counted', sum[0] * (data.start.value_ns || 1e9) / ns]];
	};
	const drawStrip = () => {
		const slices = data.shown;
		if (!slices.length)
			return;
		const width = Math.max(300, document.body.clientWidth), until = slices.at(-1).until;
		const from = Math.min(slices[0].from, until - 60000);
		scale = {from, perMs: width / (until - from)};
		strip.setAttribute('width', width);
		const bars = slices.map(slice => ({slice, parts: parts(slice)}));
		const most = Math.max(...bars.map(({parts}) => parts.reduce((sum, [, value]) => sum + value, 0)), 1e-9);
		const shapes = [];
		const put = (kind, at, to, y, high, title) => shapes.push(element(SVG, 'rect',
			{class: kind, x: x(at), width: Math.max(0.5, x(to) - x(at) - 0.3), y, height: Math.max(high, 0)}, element(SVG, 'title', {}, title)));
		let earlier = null;
		for (const {slice, parts} of bars) {
			let y = height;
			if (earlier && slice.from - earlier > 500)
				put('gap', earlier, slice.from, 0, height, 'not received');
			for (const [kind, value] of parts) {
				const high = value / most * (height - 4);
				y -= high;
				put(kind, slice.from, slice.until, y, high, `${text(slice.from)}: ${kind} ${value.toFixed(2)}`);
			}
			if (slice.summary.lost)
				put('lost', slice.from, slice.until, height - 4, 4, `${slice.summary.lost} lost, ${slice.summary.machine_lost} of them on the whole machine`);
			earlier = slice.until;
		}
		for (const [kind, of] of [['range', chosen()], ['before', before]])
			if (of)
				shapes.push(element(SVG, 'rect', {class: kind, x: x(of.from), width: Math.max(1, x(of.until) - x(of.from)), y: 0, height}));
		const step = 1000 * ([5, 10, 30, 60, 120].find(seconds => seconds * 1000 * scale.perMs > 90) ?? 300);
		for (let time = Math.ceil(from / step) * step; time < until; time += step)
			shapes.push(element(SVG, 'text', {class: 'words', x: x(time) + 2, y: 76}, text(time)),
				element(SVG, 'rect', {class: 'tick', x: x(time), y: height, width: 1, height: 16}));
		const unit = data.start.unit === 'ns' ? `${most.toFixed(2)} threads${ofStates ? '' : ' off the CPU'}` :
			data.start.value_ns ? `${most.toFixed(2)} CPUs` : `${most.toFixed(0)} a second`;
		shapes.push(element(SVG, 'text', {class: 'words', x: 4, y: 12}, unit));
		strip.replaceChildren(...shapes);
	};
	// ---- the timeline ----
	const lanesHost = html('div', {});
	const lanesView = new LanesView(lanesHost, tid => {
		const filter = document.querySelector('[aria-label=only]');
		const wanted = 't' + tid, known = [...filter.options].some(option => option.value === wanted);
		filter.value = filter.value === wanted || !known ? '' : wanted;
		filter.dispatchEvent(new Event('change'));
	});
	const drawLanes = () => {
		const slices = data.shown, {lanes} = data;
		if (!ofStates || !slices.length)
			return;
		const {from, until} = chosen() ?? {from: slices[0].from, until: slices.at(-1).until};
		if (until > from)
			lanesView.draw(lanes.shown, from, until, idle.checked);
	};
	let dragged = null;
	const timeAt = event => scale.from + (event.clientX - strip.getBoundingClientRect().x) / scale.perMs;
	strip.addEventListener('pointerdown', event => {
		if (!scale)
			return;
		dragged = timeAt(event);
		strip.setPointerCapture(event.pointerId);
	});
	strip.addEventListener('pointermove', event => {
		if (dragged === null)
			return;
		const to = timeAt(event);
		range = {from: Math.min(dragged, to), until: Math.max(dragged, to)};
		last.value = 'range';
		drawStrip();
		say();
	});
	strip.addEventListener('pointerup', event => {
		if (dragged === null)
			return;
		// a click is for one slice
		if (Math.abs(timeAt(event) - dragged) * scale.perMs < 3) {
			const slice = data.shown.find(slice => dragged >= slice.from && dragged < slice.until);
			range = slice ? {from: slice.from, until: slice.until} : null;
			last.value = range ? 'range' : '';
		}
		dragged = null;
		draw();
	});

	// ---- controls ----
	const pause = button('Pause', 'The page stays as it is; measuring goes on (p)', () => {
		paused = !paused;
		data.freeze(paused);
		draw();
	});
	const compare = button('', 'What is shown becomes what another range is compared with', () => {
		before = before ? null : chosen() ?? {from: data.shown[0].from, until: data.shown.at(-1).until};
		draw();
	});
	const file = name => {
		const {slices, tree, data: about} = made();
		return liveFormats[name]({live: data, slices, tree, about, idle: idle.checked});
	};
	const download = button('Download', 'of the range, all threads', async () => {
		const link = html('a', {href: URL.createObjectURL(new Blob(await file(format.value))), download: `${data.start.start.tool}.${format.value}`});
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), 10000);
	});
	idle.addEventListener('change', draw);
	last.addEventListener('change', () => {
		if (last.value === 'range' && !range)
			last.value = '';
		draw();
	});
	document.addEventListener('keydown', event => {
		if (event.key === 'p' && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches?.('input, select, button'))
			pause.click();
	});
	window.addEventListener('resize', () => {
		drawStrip();
		drawLanes();
	});
	document.body.append(html('div', {class: 'live'},
		html('div', {class: 'controls'}, state, pause, last, rangeText, compare, beforeText, idleLabel, format, download), strip, lanesHost));

	// ---- the stream ----
	let newest = -1, events = null, heard = 0;
	const act = {
		start(start) {
			data.start = start;
			ofStates = start.start.report === 'timeline';
			if (ofStates)
				format.replaceChildren(...format.querySelectorAll(sumFormats.map(name => `[value=${name}]`).join()));
			idleLabel.hidden = start.unit !== 'ns';
			say();
		},
		slice(slice, event) {
			// after a connection was lost, some may come again
			if (+event.lastEventId <= newest || (!slice.begins && newest >= 0 && +event.lastEventId !== newest + 1))
				return;
			newest = +event.lastEventId;
			data.add(slice);
			soon();
		},
		end(end) {
			ended = end;
			events.close();
			draw();
		},
	};
	const setConnected = now => {
		connected = now;
		heard = performance.now();
		say();
	};
	const connect = () => {
		events = new EventSource('events');
		events.addEventListener('open', () => setConnected(true));
		events.addEventListener('error', () => setConnected(false));
		for (const name in act)
			events.addEventListener(name, event => {
				heard = performance.now();
				act[name](JSON.parse(event.data), event);
			});
	};
	connect();
	// A network that has gone says nothing. A slice comes each ten seconds at least.
	setInterval(() => {
		if (ended || performance.now() - heard < SILENCE_MS)
			return;
		events.close();
		setConnected(false);
		connect();
	}, 1000);
	window.live = {data, made, draw, file, setRange: (from, until) => {
		range = {from, until};
		last.value = 'range';
		draw();
	}};
}

livePage();
