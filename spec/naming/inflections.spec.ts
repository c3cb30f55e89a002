import { expect } from 'chai'
import { collectionName, itemName } from '../../src/naming/words.js'

/** Common nouns and their plurals: those with an ending that needs care, and some regular ones. */
const nouns = `
  abacus abacuses, accomplice accomplices, account accounts, addendum addendums, address addresses,
  aerie aeries, afterlife afterlives, aircraft aircraft, alias aliases, alibi alibis, aloe aloes,
  alternative alternatives, alto altos, alumnus alumni, analysis analyses, animal animals, annex annexes,
  antenna antennas, apex apexes, api apis, apparatus apparatuses, appendix appendixes,
  apprentice apprentices, aquarium aquaria, archive archives, article articles, atlas atlases,
  avenue avenues, avocado avocados, aws aws, axis axes, bacillus bacilli, bacterium bacteria, base bases,
  basket baskets, belief beliefs, beta betas, bias biases, bid bids, bikini bikinis, birdie birdies,
  bison bisons, blitz blitzes, blouse blouses, bonus bonuses, boogie boogies, bookcase bookcases,
  bookie bookies, bookshelf bookshelves, booth booths, boss bosses, bowtie bowties, box boxes,
  brass brasses, bread bread, bridge bridges, brief briefs, briefcase briefcases, brownie brownies,
  budgie budgies, buffalo buffaloes, bus buses, business businesses, cactus cacti, cafe cafes,
  cake cakes, calf calves, calorie calories, camaraderie camaraderies, campus campuses, canoe canoes,
  canvas canvases, carafe carafes, cargo cargos, caribou caribous, carp carps, case cases, cash cash,
  casino casinos, catharsis catharses, cause causes, cave caves, census censuses, chair chairs,
  chairman chairmen, chase chases, chassis chassis, cheese cheeses, chef chefs, chief chiefs,
  child children, chili chilis, choice choices, chorus choruses, cigarette cigarettes, circus circuses,
  class classes, clause clauses, cliff cliffs, climax climaxes, cloth cloths, cms cms, code codes,
  collie collies, colossus colossuses, comma commas, committee committees, compass compasses,
  complex complexes, consensus consensuses, cookie cookies, corps corps, corpse corpses, corpus corpora,
  coterie coteries, country countries, course courses, cowrie cowries, cpu cpus, crash crashes,
  crease creases, crevice crevices, crisis crises, criterion criteria, cross crosses,
  crucifix crucifixes, css css, cumulus cumuluses, curriculum curriculums, curve curves, cutie cuties,
  cutlass cutlasses, dance dances, database databases, datum data, debris debris, deer deer,
  defense defenses, delta deltas, desk desks, detective detectives, device devices, diagnosis diagnoses,
  dialysis dialyses, die dice, diocese dioceses, discus discuses, disease diseases, dispatch dispatches,
  dive dives, dns dns, doe does, domino dominos, dose doses, dove doves, drama dramas, dress dresses,
  drive drives, duplex duplexes, duty duties, dwarf dwarves, echo echoes, eclipse eclipses,
  edifice edifices, elf elves, ellipse ellipses, embargo embargoes, embryo embryos, emoji emojis,
  emphasis emphases, employee employees, emu emus, encyclopedia encyclopedias, enterprise enterprises,
  equinox equinoxes, equipment equipment, erase erases, erratum errata, essay essays, eve eves,
  excuse excuses, executive executives, exercise exercises, exodus exoduses, expense expenses,
  eyrie eyries, factory factories, fax faxes, fence fences, fetus fetuses, fez fezzes, ficus ficuses,
  fiesta fiestas, fife fifes, fireman firemen, fix fixes, flamingo flamingos, floe floes, fly flies,
  focus focuses, foe foes, foodie foodies, foot feet, fox foxes, franchise franchises, freebie freebies,
  freeze freezes, fungus fungi, fuse fuses, garage garages, garbage garbage, gas gases, genesis geneses,
  genie genies, genius geniuses, genus genera, girl girls, glass glasses, glove gloves, gnu gnus,
  goalie goalies, goddess goddesses, golf golf, goose geese, gps gps, gpu gpus, grandchild grandchildren,
  grape grapes, grass grasses, grave graves, groove grooves, groupie groupies, grouse grouses,
  guess guesses, gui guis, gulf gulfs, guru gurus, gymnasium gymnasia, haiku haikus, half halves,
  hall halls, halo halos, handkerchief handkerchiefs, headquarters headquarters, hearse hearses,
  helix helixes, hero heroes, hex hexes, hiatus hiatuses, hibiscus hibiscuses, hippie hippies,
  hippopotamus hippopotamuses, hive hives, hoax hoaxes, hoe hoes, hoodie hoodies, hoof hoofs,
  horse horses, horseshoe horseshoes, hose hoses, house houses, housewife housewives,
  hovercraft hovercrafts, hypothesis hypotheses, ice ice, icon icons, increase increases,
  incubus incubuses, index indices, indie indies, information information, inquiry inquiries,
  invoice invoices, iota iotas, iris irises, isthmus isthmuses, item items, joke jokes, juice juices,
  junkie junkies, justice justices, kangaroo kangaroos, key keys, kiss kisses, kiwi kiwis, knife knives,
  label labels, laddie laddies, language languages, lapse lapses, lattice lattices, leaf leaves,
  lease leases, leash leashes, lens lenses, license licenses, lie lies, life lives, line lines,
  loaf loaves, locus loci, log logs, logo logos, lotus lotuses, louse lice, machine machines,
  magnolia magnolias, magpie magpies, man men, mango mangos, manifesto manifestos, mass masses,
  match matches, matrix matrices, mattress mattresses, medium media, memo memos, memorandum memorandums,
  menagerie menageries, menu menus, message messages, metamorphosis metamorphoses, militia militias,
  minus minuses, mix mixes, modulus moduli, mongoose mongooses, monkey monkeys, moose mooses,
  mosquito mosquitos, motto mottos, mouse mice, move moves, movie movies, muse muses, native natives,
  necktie neckties, nemesis nemeses, nerve nerves, neurosis neuroses, newbie newbies, news news,
  nexus nexuses, niece nieces, nightie nighties, nimbus nimbuses, notice notices, novice novices,
  nucleus nuclei, nurse nurses, oasis oases, objective objectives, oboe oboes, octopus octopuses,
  office offices, oldie oldies, olive olives, opus opuses, order orders, organdie organdies, os os,
  overpass overpasses, ox oxen, pancreas pancreases, papyrus papyruses, paradox paradoxes,
  paralysis paralyses, parenthesis parentheses, party parties, pass passes, pasta pastas, pause pauses,
  payment payments, pdf pdfs, pelvis pelvises, penknife penknives, person people, phase phases,
  phoenix phoenixes, photo photos, phrase phrases, piano pianos, pie pies, piece pieces, pinkie pinkies,
  pixie pixies, platypus platypuses, plus pluses, podium podia, poem poems, police police,
  policeman policemen, portfolio portfolios, potato potatoes, practice practices, prairie prairies,
  prefix prefixes, premise premises, premium premia, price prices, prince princes, process processes,
  prognosis prognoses, promise promises, proof proofs, prophecy prophecies, prospectus prospectuses,
  prosthesis prostheses, psychosis psychoses, pulse pulses, purchase purchases, purpose purposes,
  purse purses, pyjamas pyjamas, quantum quanta, quartz quartz, queue queues, quickie quickies,
  quiz quizzes, quota quotas, rabbi rabbis, radio radios, radius radii, raise raises, ratio ratios,
  ray rays, rebus rebuses, reef reefs, reflex reflexes, refuse refuses, regatta regattas, relax relaxes,
  relay relays, release releases, relief reliefs, reserve reserves, response responses, reverie reveries,
  rhinoceros rhinoceroses, rhombus rhombuses, rice rice, rinse rinses, rise rises, roman romans,
  roof roofs, rookie rookies, rotisserie rotisseries, route routes, rss rss, safari safaris, safe safes,
  salesman salesmen, salmon salmons, scarf scarves, scenario scenarios, science sciences,
  search searches, self selves, selfie selfies, sense senses, serf serfs, series series,
  service services, session sessions, sex sexes, sheaf sheaves, sheep sheep, shelf shelves,
  sheriff sheriffs, shoe shoes, showcase showcases, silo silos, sinus sinuses, sister sisters, ski skis,
  sku skus, slave slaves, sleeve sleeves, slice slices, smoothie smoothies, sms sms, soap soap,
  solstice solstices, sonata sonatas, sortie sorties, source sources, species species,
  spectrum spectrums, spice spices, splice splices, sponge sponges, spouse spouses, stadium stadia,
  staff staffs, staircase staircases, stamp stamps, status statuses, stepchild stepchildren,
  stereo stereos, stimulus stimuli, stove stoves, strategy strategies, stratum strata, stress stresses,
  strife strifes, studio studios, subject subjects, success successes, sudoku sudokus, suffix suffixes,
  suitcase suitcases, surf surfs, surplus surpluses, survey surveys, suspense suspenses,
  sweetie sweeties, syllabus syllabuses, symposium symposia, synopsis synopses, syntax syntaxes,
  synthesis syntheses, talkie talkies, tariff tariffs, task tasks, tattoo tattoos, tax taxes, taxi taxis,
  techie techies, tennis tennis, tense tenses, terminus terminuses, thermos thermoses,
  thesaurus thesauruses, thesis theses, thief thieves, thing things, thorax thoraxes, tie ties,
  tiptoe tiptoes, titmouse titmice, tls tls, tobacco tobaccos, toe toes, tomato tomatoes, tooth teeth,
  topaz topazes, torch torches, tornado tornados, torpedo torpedoes, torus toruses, toughie toughies,
  townie townies, trash trashes, trauma traumas, treatise treatises, trespass trespasses,
  triceps triceps, trolley trolleys, trousers trousers, trust trust, tsunami tsunamis, tuna tunas,
  turf turfs, tutu tutus, twelve twelves, union unions, universe universes, uri uris, url urls, use uses,
  uterus uteruses, valve valves, vase vases, veggie veggies, venue venues, verse verses, vertex vertices,
  veto vetoes, video videos, villa villas, virus viruses, visa visas, vista vistas, voice voices,
  volcano volcanos, vortex vortexes, waitress waitresses, walkie walkies, walrus walruses, waltz waltzes,
  warehouse warehouses, waste wastes, wave waves, wax waxes, wedgie wedgies, werewolf werewolves,
  wharf wharves, wheel wheels, whiz whizzes, wife wives, wiki wikis, wildlife wildlife,
  witness witnesses, woe woes, wolf wolves, woman women, workman workmen, wrench wrenches, year years,
  yeti yetis, yuppie yuppies, zero zeros, zombie zombies, zoo zoos
`
  .trim()
  .split(/,\s+/)
  .map((pair) => pair.split(' ') as [singular: string, plural: string])

describe('collectionName(name) and itemName(name)', () => {
  it('know the plural of each noun, and the noun of each plural', () => {
    expect(nouns).to.have.length(614)
    for (const [singular, plural] of nouns) {
      expect(collectionName(singular), singular).to.equal(plural)
      expect(itemName(plural), plural).to.equal(singular)
    }
  })

  it('do not change a noun that is singular already', () => {
    for (const [singular] of nouns) expect(itemName(singular)).to.equal(singular)
  })

  it('change the last word of a name', () => {
    for (const [singular, plural] of nouns) {
      expect(collectionName(`blog_${singular}`)).to.equal(`blog_${plural}`)
      expect(itemName(`blog_${plural}`)).to.equal(`blog_${singular}`)
    }
  })

  it('know plurals that some people write in another way', () => {
    const rows = {
      focuses: 'focus',
      radiuses: 'radius',
      cactuses: 'cactus',
      indexes: 'index',
      stadiums: 'stadium',
      leafs: 'leaf',
    }
    for (const [plural, singular] of Object.entries(rows)) expect(itemName(plural)).to.equal(singular)
  })
})
