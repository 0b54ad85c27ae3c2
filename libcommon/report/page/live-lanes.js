// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline of --serve: what each thread did, in slices of time (live/lanes.h).
'use strict';

const SLICE_MS = 25;
const LANE_STATES = ['on', 'waiting', 'blocked', 'lost'];
const STATES = LANE_STATES.length;
const MAX_PIECES = 1 << 20;	// of all threads: what is oldest goes
const MAX_ROWS = 200;
const ROW = 16, HEAD = 16;	// pixels

// Slices that are alike are a piece: three numbers, the first slice, how many, and the time in each state, in 0.1 ms, 8 bits each.
const PIECE = 3;
const packed = times => times.reduceRight((word, time) => word << 8 | Math.min(time, 255), 0);
const msOf = (word, state) => (word >>> 8 * state & 255) / 10;

class LiveLanes {
	constructor() {
		this.threads = new Map();	// id -> {pid, tid, comm, pieces}
		this.began = 0;			// ms, of slice 0
		this.left = 0;			// threads that the tool had no room for
		this.nr = 0;			// pieces
		this.frozen = null;		// a copy, which is shown while the page is paused
	}

	get shown() {
		return this.frozen ?? this;
	}

	freeze(paused) {
		this.frozen = null;
		if (!paused)
			return;
		this.frozen = new LiveLanes();
		Object.assign(this.frozen, {began: this.began, left: this.left});
		for (const [id, thread] of this.threads)
			this.frozen.threads.set(id, {...thread, pieces: thread.pieces.slice()});
	}

	// what a document of the tool has; slices before the time are forgotten
	add(document, before) {
		this.began = Date.parse(document.lanes_began.slice(0, 23) + 'Z');
		this.left = document.lanes_left;
		for (const [id, pid, tid, comm, first, ...parts] of document.lanes) {
			const thread = this.threads.get(id) ?? {pieces: []}, {pieces} = thread;
			this.threads.set(id, Object.assign(thread, {pid, tid, comm}));
			for (let i = 0, slice = first; i < parts.length; slice += parts[i], i += 1 + STATES) {
				const word = packed(parts.slice(i + 1, i + 1 + STATES)), last = pieces.length - PIECE;
				if (last >= 0 && pieces[last] + pieces[last + 1] === slice && pieces[last + 2] === word) {
					pieces[last + 1] += parts[i];
				} else {
					pieces.push(slice, parts[i], word);
					this.nr++;
				}
			}
		}
		let cut = Math.max(0, Math.floor((before - this.began) / SLICE_MS)), newest = cut;
		this.forget(cut);
		for (const {pieces} of this.threads.values())
			newest = Math.max(newest, pieces.at(-PIECE));
		while (this.nr > MAX_PIECES && cut < newest) {
			cut += Math.ceil((newest - cut) / 4);
			this.forget(cut);
		}
	}

	forget(before) {
		for (const [id, {pieces}] of this.threads) {
			let gone = 0;
			while (gone < pieces.length && pieces[gone] + pieces[gone + 1] <= before)
				gone += PIECE;
			pieces.splice(0, gone);
			this.nr -= gone / PIECE;
			if (!pieces.length)
				this.threads.delete(id);
		}
	}

	// ms by state in each of `nr` cells of the time
	cells({pieces}, from, until, nr) {
		const cells = new Float64Array(nr * STATES), wide = (until - from) / nr;
		for (let i = pieces.length - PIECE; i >= 0; i -= PIECE) {
			const begin = Math.max(from, this.began + pieces[i] * SLICE_MS);
			const end = Math.min(until, this.began + (pieces[i] + pieces[i + 1]) * SLICE_MS);
			if (end <= from)
				break;
			for (let cell = Math.floor((begin - from) / wide); cell < nr && from + cell * wide < end; cell++) {
				const ms = Math.min(end, from + (cell + 1) * wide) - Math.max(begin, from + cell * wide);
				for (let state = 0; state < STATES && ms > 0; state++)
					cells[cell * STATES + state] += ms / SLICE_MS * msOf(pieces[i + 2], state);
			}
		}
		return cells;
	}

	// The threads that did anything then but sleep, or all: who ran longest first.
	rows(from, until, all) {
		const rows = [];
		for (const thread of this.threads.values()) {
			const sums = this.cells(thread, from, until, 1);
			if (all ? sums.some(ms => ms) : sums.some((ms, state) => ms && LANE_STATES[state] !== 'blocked'))
				rows.push({thread, sums});
		}
		return rows.sort((a, b) => b.sums[0] - a.sums[0] || b.sums[1] - a.sums[1] || a.thread.tid - b.thread.tid);
	}
}

// Draws them into `host`. choose: is called with the ID of a thread whose name is clicked
class LanesView {
	constructor(host, choose) {
		this.canvas = html('canvas', {});
		this.names = html('div', {class: 'names'});
		this.said = html('output', {});
		this.choose = choose;
		host.append(html('div', {class: 'lanes'}, this.names, this.canvas), this.said);
		this.canvas.addEventListener('pointermove', event => {
			const row = this.rows?.[Math.floor((event.offsetY - HEAD) / ROW)];
			this.said.textContent = row ? this.describe(row, this.from + event.offsetX / this.canvas.clientWidth * (this.until - this.from)) : '';
		});
		this.canvas.addEventListener('pointerleave', () => { this.said.textContent = ''; });
	}

	nameOf({comm, pid, tid}) {
		return `${comm} (${pid}/${tid})`;
	}

	describe({thread, sums}, time) {
		const all = sums.reduce((sum, ms) => sum + ms, 0);
		return `${this.nameOf(thread)} at ${new Date(time).toLocaleTimeString()}; in all that is shown: ` +
			LANE_STATES.flatMap((state, i) => sums[i] ? [`${state === 'on' ? 'running' : state} ${(100 * sums[i] / all).toFixed(1)} %`] : []).join(', ');
	}

	draw(lanes, from, until, all) {
		const rows = lanes.rows(from, until, all), canvas = this.canvas, left = Math.max(0, rows.length - MAX_ROWS) + lanes.left;
		this.rows = rows.splice(0, MAX_ROWS);
		Object.assign(this, {from, until});
		const names = [...this.rows.map(({thread}) => this.nameOf(thread)), left ? `${left} more threads` : ''];
		if (names.join('\n') !== this.drawnNames) {	// else a click or the focus stays where it is
			this.drawnNames = names.join('\n');
			this.names.replaceChildren(...this.rows.map(({thread}) => {
				const name = html('button', {type: 'button', title: this.nameOf(thread)}, this.nameOf(thread));
				name.addEventListener('click', () => this.choose(thread.tid));
				return name;
			}), html('span', {}, names.at(-1)));
		}
		const width = canvas.clientWidth, height = HEAD + ROW * this.rows.length, scale = window.devicePixelRatio || 1;
		if (!width)
			return;
		canvas.style.height = height + 'px';
		canvas.width = width * scale;
		canvas.height = height * scale;
		const g = canvas.getContext('2d'), style = getComputedStyle(canvas);
		const colours = LANE_STATES.map(state => style.getPropertyValue('--' + state).trim());
		g.scale(scale, scale);
		g.font = '11px system-ui, sans-serif';
		g.fillStyle = style.color;
		const step = 1000 * ([1, 2, 5, 10, 30, 60, 120].find(seconds => seconds * 1000 / (until - from) * width > 90) ?? 300);
		for (let time = Math.ceil(from / step) * step; time < until; time += step) {
			g.fillRect((time - from) / (until - from) * width, 0, 1, HEAD - 2);
			g.fillText(new Date(time).toLocaleTimeString(), (time - from) / (until - from) * width + 3, 11);
		}
		this.rows.forEach(({thread}, row) => {
			const cells = lanes.cells(thread, from, until, width);
			// columns that are alike are one rectangle
			const put = (begin, end) => {
				const of = cells.subarray(begin * STATES, (begin + 1) * STATES), sum = of.reduce((sum, ms) => sum + ms, 0);
				const bottom = HEAD + ROW * (row + 1) - 1;
				let below = 0, y = bottom;
				for (let state = 0; state < STATES && sum; state++) {
					below += of[state];
					const top = bottom - Math.round(below / sum * (ROW - 2));
					g.fillStyle = colours[state];
					g.fillRect(begin, top, end - begin, y - top);
					y = top;
				}
			};
			const alike = (a, b) => LANE_STATES.every((_, state) => Math.abs(cells[a * STATES + state] - cells[b * STATES + state]) < 1e-3);
			let begin = 0;
			for (let column = 1; column <= width; column++)
				if (column === width || !alike(begin, column)) {
					put(begin, column);
					begin = column;
				}
		});
	}
}
